import { InvalidArgumentError, Option } from 'commander';

export const environmentOption = () => new Option('--environment <environment>').choices(['live', 'test']).makeOptionMandatory();

export const scopesOption = () =>
  new Option('--scopes <scopes>', 'scopes separated by blanks; all that the role of the user may hold unless given')
    .default([], 'all of the role')
    .argParser((text: string) => text.split(/[\s,]+/).filter(Boolean));

/** Text that is no whole number is a mistake and never the default. */
export function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}
