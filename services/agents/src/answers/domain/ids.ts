const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const timeLength = 10;
const wellFormed = /^msg_[0-7][0-9abcdefghjkmnpqrstvwxyz]{25}$/;

/** The end of the year 9999: later times have another form as text, and no message has one. */
const latest = Date.UTC(10_000, 0) - 1;

/** The millisecond in a message's id; undefined where it is no id of ours. */
export function timeOf(id: string): number | undefined {
  if (!wellFormed.test(id)) return undefined;
  const time = [...timePart(id)].reduce((sum, character) => sum * alphabet.length + alphabet.indexOf(character), 0);
  return time > 0 && time <= latest ? time : undefined;
}

const timePart = (id: string) => id.slice(4, 4 + timeLength);

/**
 * The id of the question that an answer belongs to: a millisecond older and otherwise the same. So whoever accepts the answer
 * again writes the same row again, and the row's key refuses it.
 */
export function questionIdOf(answerId: string): string {
  const time = timeOf(answerId);
  if (time === undefined) throw new RangeError(`${answerId} is no id of an answer`);
  return `msg_${encodeTime(time - 1)}${answerId.slice(4 + timeLength)}`;
}

function encodeTime(time: number): string {
  let rest = time;
  let text = '';
  for (let place = 0; place < timeLength; place += 1) {
    text = alphabet[rest % alphabet.length] + text;
    rest = Math.floor(rest / alphabet.length);
  }
  return text;
}
