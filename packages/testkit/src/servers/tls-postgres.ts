import { chownSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestCertificate } from '../http/certificate.ts';
import { type OwnPostgres, ownPostgres } from './own-postgres.ts';

/** A PostgreSQL that speaks TLS, and also accepts clients without it. */
export interface TlsPostgres extends OwnPostgres {
  /** Starts it again with this certificate; without one it does not speak TLS at all. */
  present(certificate: TestCertificate | undefined): Promise<void>;
}

const files = { cert: 'test-server.crt', key: 'test-server.key' };
const on = { ssl: 'on', ssl_cert_file: `'${files.cert}'`, ssl_key_file: `'${files.key}'` };

export async function tlsPostgres(first: TestCertificate): Promise<TlsPostgres> {
  let certificate: TestCertificate | undefined = first;
  const server = await ownPostgres({ beforeStart: (folder) => configure(folder, certificate) });
  return {
    ...server,
    async present(next) {
      await server.stop();
      certificate = next;
      await server.start();
    },
  };
}

/** The cluster's `postgresql.auto.conf` is read last. */
function configure(folder: string, certificate: TestCertificate | undefined): void {
  const settings = Object.entries(certificate ? on : { ssl: 'off' }).map(([name, value]) => `${name} = ${value}\n`);
  writeAsServer(folder, 'postgresql.auto.conf', settings.join(''));
  if (!certificate) return;
  writeAsServer(folder, files.cert, certificate.cert);
  writeAsServer(folder, files.key, certificate.key);
}

/** PostgreSQL accepts a key file only of its own user, unreadable by others. */
function writeAsServer(folder: string, name: string, content: string): void {
  const file = join(folder, name);
  const { uid, gid } = statSync(folder);
  writeFileSync(file, content, { mode: 0o600 });
  chownSync(file, uid, gid);
}
