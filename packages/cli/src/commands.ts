import type { Command } from 'commander';

/** A noun of the command line. `--json` is understood behind every verb as well. */
export function group(program: Command, name: string, description: string): (verb: string, text: string) => Command {
  const noun = program.command(name).description(description);
  return (verb, text) =>
    noun
      .command(verb)
      .description(text)
      .option('--json', 'print one JSON object')
      .on('option:json', () => program.setOptionValue('json', true));
}
