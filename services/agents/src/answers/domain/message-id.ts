const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const timeLength = 10;
const wellFormed = /^msg_[0-7][0-9abcdefghjkmnpqrstvwxyz]{25}$/;

/** The end of the year 9999. A later time has another text form, and no message has one. */
const latest = Date.UTC(10_000, 0) - 1;

/** The millisecond in the id of a message; undefined for a text that is not such an id. */
export function timeOf(id: string): number | undefined {
  if (!wellFormed.test(id)) return undefined;
  const time = [...timePart(id)].reduce((sum, character) => sum * alphabet.length + alphabet.indexOf(character), 0);
  return time > 0 && time <= latest ? time : undefined;
}

const timePart = (id: string) => id.slice(4, 4 + timeLength);

/**
 * The id of the user's message that an answer belongs to: a millisecond older and otherwise the same. A second acceptance of the answer
 * writes the same row, and the key of the row refuses it.
 */
export function userMessageIdOf(answerId: string): string {
  const time = timeOf(answerId);
  if (time === undefined) throw new RangeError(`${answerId} is not the id of an answer`);
  return `msg_${encodeTime(time - 1)}${answerId.slice(4 + timeLength)}`;
}

function encodeTime(time: number): string {
  let rest = time;
  let text = '';
  for (let position = 0; position < timeLength; position += 1) {
    text = alphabet[rest % alphabet.length] + text;
    rest = Math.floor(rest / alphabet.length);
  }
  return text;
}
