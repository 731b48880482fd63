import { createPrivateKey, createSign, generateKeyPairSync, randomBytes } from 'node:crypto';

/** A certificate and its key, in PEM. */
export interface TestCertificate {
  cert: string;
  key: string;
}

export interface TestCertificateOptions {
  /** The hosts that it certifies: DNS names, and IPv4 or (as `::1`) IPv6 addresses. */
  readonly names?: readonly string[];
  readonly addresses?: readonly string[];
  readonly notAfter?: Date;
  /** Who signs it. Without one it signs itself, and is its own authority. */
  readonly authority?: TestCertificate & { readonly subject: string };
  /** Two authorities of one name differ by their keys only. */
  readonly subject?: string;
  /** By default an elliptic key. */
  readonly keyType?: 'ec' | 'rsa';
}

type Der = Buffer;

const tagged = (tag: number, ...content: Der[]): Der => {
  const body = Buffer.concat(content);
  const length = body.length < 128 ? [body.length] : [0x82, body.length >> 8, body.length & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
};
const sequence = (...content: Der[]) => tagged(0x30, ...content);
const octets = (content: Der) => tagged(0x04, content);
const bits = (content: Der) => tagged(0x03, Buffer.from([0]), content);
const isTrue = tagged(0x01, Buffer.from([0xff]));
/** An object identifier by its bytes. */
const oid = (hex: string) => tagged(0x06, Buffer.from(hex, 'hex'));
const time = (at: Date) => tagged(0x18, Buffer.from(`${at.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`));
const extension = (id: string, critical: boolean, value: Der) => sequence(oid(id), ...(critical ? [isTrue] : []), octets(value));

const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));
const rsaWithSha256 = sequence(oid('2a864886f70d01010b'), tagged(0x05));
const commonName = (text: string) => sequence(tagged(0x31, sequence(oid('550403'), tagged(0x0c, Buffer.from(text)))));

const day = 24 * 3_600_000;
const local = { names: ['localhost', '*.localhost'], addresses: ['127.0.0.1', '::1'] };

/** A certificate for servers on this machine: `localhost` and its names, 127.0.0.1 and ::1. Good for ten days, and for one past. */
export function testCertificate(options: TestCertificateOptions = {}): TestCertificate {
  const { names = local.names, addresses = local.addresses, authority, subject = 'test receivers', keyType = 'ec' } = options;
  const { publicKey, privateKey } =
    keyType === 'rsa' ? generateKeyPairSync('rsa', { modulusLength: 2_048 }) : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signer = authority ? createPrivateKey(authority.key) : privateKey;
  const algorithm = signer.asymmetricKeyType === 'rsa' ? rsaWithSha256 : ecdsaWithSha256;
  const notAfter = options.notAfter ?? new Date(Date.now() + 10 * day);
  const from = new Date(Math.min(Date.now(), notAfter.getTime()) - day);
  const hosts = sequence(
    ...names.map((name) => tagged(0x82, Buffer.from(name))),
    ...addresses.map((address) => tagged(0x87, addressBytes(address))),
  );
  const basic = authority ? sequence() : sequence(isTrue);
  const toBeSigned = sequence(
    tagged(0xa0, tagged(0x02, Buffer.from([2]))),
    tagged(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    commonName(authority?.subject ?? subject),
    sequence(time(from), time(notAfter)),
    commonName(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(extension('551d13', true, basic), extension('551d11', false, hosts))),
  );
  const signature = createSign('sha256').update(toBeSigned).sign(signer);
  const cert = sequence(toBeSigned, algorithm, bits(signature)).toString('base64');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${cert.replace(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

const addressBytes = (address: string): Buffer =>
  address === '::1' ? Buffer.concat([Buffer.alloc(15), Buffer.from([1])]) : Buffer.from(address.split('.').map(Number));

/** A certificate authority, which signs certificates for servers. */
export function testAuthority(subject = 'test authority') {
  const own = { ...testCertificate({ subject, names: ['authority.invalid'], addresses: [] }), subject };
  return {
    cert: own.cert,
    issue: (options: Omit<TestCertificateOptions, 'authority'> = {}): TestCertificate => testCertificate({ ...options, authority: own }),
  };
}
