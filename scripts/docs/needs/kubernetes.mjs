// A cluster in which the namespace of the documents may be made and deleted, and the registry that it takes the image from. Both have to be named: a test must
// not install into the cluster that kubectl happens to know.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@agent-service/local/host/ports';
import { rememberImages, succeeds } from './docker.mjs';

const { DOCUMENTS_CLUSTER: context = '', DOCUMENTS_REGISTRY: address = '' } = process.env;
/** The namespace of the documents, and one with the database that a reader connects. */
const [namespace, readers] = ['agents', 'agent-service-documents'];
const source = { image: 'postgres:17-alpine', url: `postgres://reader:reader@shop.${readers}.svc.cluster.local:5432/shop?sslmode=disable` };
const statements = `create role reader login password 'reader'; create table orders (id integer primary key, total integer not null);
insert into orders select n, n * 10 from generate_series(1, 42) n; grant select on orders to reader`;
const waitLimit = '180s';

function kubectl(env, words, input) {
  const { status, stdout, stderr } = spawnSync('kubectl', words, { env: { ...process.env, ...env }, input, encoding: 'utf8' });
  if (status !== 0) throw new Error(`kubectl ${words.join(' ')}: ${stderr}`);
  return stdout;
}

/** A database with a table and an account that may read it, as a reader has one. */
function startReadersDatabase(env) {
  const k = (...words) => kubectl(env, ['-n', readers, ...words]);
  k('create', 'namespace', readers);
  k('run', 'shop', `--image=${source.image}`, '--port=5432', '--expose', '--env=POSTGRES_PASSWORD=postgres', '--env=POSTGRES_DB=shop');
  k('wait', 'pod/shop', '--for=condition=Ready', `--timeout=${waitLimit}`);
  const psql = `until psql -h 127.0.0.1 -U postgres -d shop -c 'select 1'; do sleep 0.2; done; psql -h 127.0.0.1 -U postgres -d shop -v ON_ERROR_STOP=1 -c "$1"`;
  k('exec', 'shop', '--', 'env', 'PGPASSWORD=postgres', 'timeout', '60', 'sh', '-c', psql, 'sh', statements);
}

export const registry = {
  findLack: () => (address === '' ? 'DOCUMENTS_REGISTRY names no registry that images may be pushed to' : undefined),
  prepare: () => ({
    adapt: (script) => script.replaceAll('registry.example.com', address),
    finish: rememberImages([`${address}/agent-service:0.1.0`]),
  }),
};

export const kubernetes = {
  findLack() {
    if (context === '') return 'DOCUMENTS_CLUSTER names no context of kubectl whose cluster may be used';
    for (const [command, ...words] of [
      ['kubectl', '--context', context, 'version'],
      ['helm', 'version'],
    ])
      if (!succeeds(command, ...words)) return `${command} ${words.join(' ')} fails`;
    if (registry.findLack() !== undefined) return registry.findLack();
    for (const name of [namespace, readers])
      if (succeeds('kubectl', '--context', context, 'get', 'namespace', name)) return `the cluster has a namespace ${name} already`;
    return undefined;
  },
  async prepare(folder) {
    const env = { KUBECONFIG: join(folder, 'kubeconfig') };
    writeFileSync(env.KUBECONFIG, kubectl({}, ['config', 'view', '--context', context, '--minify', '--flatten']), { mode: 0o600 });
    const port = await freePort();
    const finish = () => void kubectl(env, ['delete', 'namespace', namespace, readers, '--ignore-not-found', `--timeout=${waitLimit}`]);
    try {
      startReadersDatabase(env);
    } catch (cause) {
      finish();
      throw cause;
    }
    return {
      env: { ...env, SOURCE: source.url },
      adapt: (script) => script.replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`).replaceAll(' 8080:80', ` ${port}:80`),
      finish,
    };
  },
};
