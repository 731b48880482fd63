import { createSign, generateKeyPairSync, randomBytes } from 'node:crypto';

/** A certificate that signs itself, so that it is its own authority, and its key. */
export interface TestCertificate {
  cert: string;
  key: string;
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
const commonName = (text: string) => sequence(tagged(0x31, sequence(oid('550403'), tagged(0x0c, Buffer.from(text)))));

/** A certificate for servers on this machine: `localhost` and its names, 127.0.0.1 and ::1. Good from yesterday for ten days. */
export function testCertificate(): TestCertificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const day = 24 * 3_600_000;
  const name = commonName('test receivers');
  const hosts = sequence(
    ...['localhost', '*.localhost'].map((host) => tagged(0x82, Buffer.from(host))),
    tagged(0x87, Buffer.from([127, 0, 0, 1])),
    tagged(0x87, Buffer.concat([Buffer.alloc(15), Buffer.from([1])])),
  );
  const toBeSigned = sequence(
    tagged(0xa0, tagged(0x02, Buffer.from([2]))),
    tagged(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsaWithSha256,
    name,
    sequence(time(new Date(Date.now() - day)), time(new Date(Date.now() + 10 * day))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(extension('551d13', true, sequence(isTrue)), extension('551d11', false, hosts))),
  );
  const signature = createSign('sha256').update(toBeSigned).sign(privateKey);
  const cert = sequence(toBeSigned, ecdsaWithSha256, bits(signature)).toString('base64');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${cert.replace(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}
