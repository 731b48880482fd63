import { Option } from 'commander';

export const environmentOption = () => new Option('--environment <environment>').choices(['live', 'test']).makeOptionMandatory();

export const scopesOption = () =>
  new Option('--scopes <scopes>', 'scopes separated by blanks; all of them unless given')
    .default([], 'all')
    .argParser((text: string) => text.split(/[\s,]+/).filter(Boolean));
