import { hasSqlDetails, loadModule, parseSync } from 'libpg-query';
import { Refusal } from '../domain/refusal.ts';
import { onlyStatement } from '../domain/tree.ts';

/** More would only be generated, and a parser on a small stack must not be led to its end. */
const longest = 16_000;

await loadModule();

/** The one statement of a text, by PostgreSQL's own parser. */
export function parseStatement(text: string, limit = longest): unknown {
  if (text.length > limit) throw new Refusal(`A statement has at most ${limit} characters.`);
  if (text.includes('\0') || !text.isWellFormed()) throw new Refusal('A statement can not contain such characters.');
  const statement = text.trim() === '' ? undefined : onlyStatement(parse(text));
  if (statement === undefined) throw new Refusal('Send exactly one statement.');
  return statement;
}

function parse(text: string): unknown {
  try {
    return parseSync(text);
  } catch (cause) {
    const { cursorPosition = -1 } = (hasSqlDetails(cause) && cause.sqlDetails) || {};
    const near = cursorPosition >= 0 ? ` (at character ${cursorPosition + 1})` : '';
    const reason = hasSqlDetails(cause) ? cause.message : 'it is nested too deeply';
    throw new Refusal(`The statement can not be understood: ${reason}${near}.`, { cause });
  }
}
