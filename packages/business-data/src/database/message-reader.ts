import { JoinedBytes } from '@agent-service/outbound';

const headerBytes = 5;
const codes = { dataRow: 0x44, error: 0x45, notice: 0x4e, authentication: 0x52, rowDescription: 0x54 };
const authentications = { accepted: 0, challenge: 11 };

/**
 * Splits what a server sends into the messages of PostgreSQL's protocol, of which it passes on complete ones only, one in each call. Throws
 * at a message that the driver would never finish reading, or that it would turn into far more memory than it has bytes.
 */
export function createMessageReader(onMessage: (message: Buffer) => void): (chunk: Buffer) => void {
  const check = createCheck();
  /** The beginning of a message. */
  let pending: JoinedBytes | undefined;
  return (chunk) => {
    pending?.add(chunk);
    const bytes = pending?.all() ?? chunk;
    let start = 0;
    for (let end = endOf(bytes, start); end <= bytes.length; end = endOf(bytes, start)) {
      const message = bytes.subarray(start, end);
      check(message);
      onMessage(message);
      start = end;
    }
    if (start === bytes.length) pending = undefined;
    else if (!pending || start > 0) {
      // A new buffer, since messages that were passed on are in the old one.
      pending = new JoinedBytes();
      pending.add(bytes.subarray(start));
    }
  };
}

/** The end of the message that begins here; behind the bytes while its header is incomplete. */
function endOf(bytes: Buffer, start: number): number {
  if (bytes.length < start + headerBytes) return start + headerBytes;
  const length = bytes.readUInt32BE(start + 1);
  if (length < 4) throw new RangeError(`a message has the length ${length}`);
  return start + 1 + length;
}

function createCheck(): (message: Buffer) => void {
  const checkAuthentication = createAuthenticationCheck();
  let columns = 0;
  return (message) => {
    const code = message[0];
    if (code === codes.authentication) checkAuthentication(message);
    else if (code === codes.rowDescription) columns = message.readInt16BE(headerBytes);
    else if (code === codes.dataRow) checkRow(message, columns);
    else if (code === codes.error || code === codes.notice) checkFields(message);
  };
}

/** The driver answers each challenge, also after the login, and derives a key in up to 100,000 rounds of a hash for it. */
function createAuthenticationCheck(): (message: Buffer) => void {
  let isAccepted = false;
  let hasChallenge = false;
  return (message) => {
    const kind = message.readInt32BE(headerBytes);
    if (isAccepted) throw new RangeError('the login was accepted before');
    if (kind === authentications.challenge && hasChallenge) throw new RangeError('a login has a second challenge');
    isAccepted = kind === authentications.accepted;
    hasChallenge ||= kind === authentications.challenge;
  };
}

/** The driver makes a value for each column, and reads a value of a negative length again and again. */
function checkRow(message: Buffer, columns: number): void {
  if (message.readInt16BE(headerBytes) !== columns) throw new RangeError('a row has not the values of its columns');
  let at = headerBytes + 2;
  for (let column = 0; column < columns; column += 1) {
    const length = message.readInt32BE(at);
    if (length < -1) throw new RangeError(`a value has the length ${length}`);
    at += 4 + Math.max(length, 0);
  }
  if (at !== message.length) throw new RangeError('a row does not end with its last value');
}

/** The driver reads fields until it finds the zero that ends them. */
function checkFields(message: Buffer): void {
  let at = headerBytes;
  while (at < message.length && message[at] !== 0) {
    const end = message.indexOf(0, at + 1);
    at = end < 0 ? message.length : end + 1;
  }
  if (at !== message.length - 1) throw new RangeError('the fields of an error or a notice do not end');
}
