// The guides' starts of a system with other settings, and what they do with it, each block as it is written in a terminal of its own. A start takes some seconds, so
// this is a part of the long form: npm run test:long -- documents
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { freePort } from '@agent-service/local/host/ports';
import { readCredentials } from '@agent-service/local/system/secrets';
import { machineEnvironment, testFolder, until } from '@agent-service/testkit';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { blocksOf } from './blocks.mjs';
import { openTerminal } from './terminal.mjs';
import { markOf } from './walk.mjs';

const limitMs = 300_000;
const long = process.env.DOCUMENTS === 'long' ? describe : describe.skip;

/** The blocks of a guide that name this file. */
const blocksIn = (guide) =>
  blocksOf(readFileSync(join('docs', 'guides', guide), 'utf8')).filter((block) => markOf(block, 'by') === 'scripts/docs/starts.test.mjs');

long('with the settings of the guides', () => {
  let folder;
  let ports;
  let terminals;
  beforeEach(async () => {
    folder = await testFolder();
    mkdirSync(join(folder, '.data'));
    ports = { api: await freePort(), portal: await freePort(), proxy: await freePort(), receiver: await freePort() };
    terminals = [];
  });
  afterEach(async () => {
    for (const terminal of terminals.reverse()) await terminal.close();
  }, limitMs);

  /** A reader is in the repository's folder; here each test has a folder with data of its own, and ports that are free. */
  const adapt = (script) =>
    script
      .replaceAll('http://127.0.0.1:8080', `http://127.0.0.1:${ports.api}`)
      .replaceAll(/(?:\$PWD\/|\.\/)?\.data\//g, `${folder}/.data/`)
      .replaceAll(/=\.\/(models\.json|templates)/g, `=${folder}/$1`)
      .replaceAll(/\b3443\b/g, ports.proxy)
      .replaceAll(/\b3000\b/g, ports.receiver);

  function open(script, settings = {}) {
    const env = { ...machineEnvironment, PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: process.env.HOME, ...settings };
    const terminal = openTerminal(adapt(script), { cwd: resolve('.'), env });
    terminals.push(terminal);
    return terminal;
  }

  async function start({ content }) {
    const settings = { DATA_DIR: join(folder, '.data'), PORT: String(ports.api), PORTAL_PORT: String(ports.portal) };
    await open(content, settings).waitFor(/Agent Service is ready/);
  }

  async function read(path) {
    const key = readCredentials(join(folder, '.data', 'credentials.json'))?.api_keys.live;
    const response = await fetch(`http://127.0.0.1:${ports.api}${path}`, { headers: { authorization: `Bearer ${key}` } });
    expect([path, response.status]).toEqual([path, 200]);
    return (await response.json()).data;
  }

  test(
    'a system starts with the models file of models-and-prices.md, and not with a fault in it',
    async () => {
      const [file, command] = blocksIn('models-and-prices.md');
      const path = join(folder, markOf(file, 'as'));
      writeFileSync(path, file.content.replace('"base_url"', '"base_ulr"'));
      await expect(start(command)).rejects.toThrow('base_ulr');
      writeFileSync(path, file.content);
      await start(command);
    },
    limitMs,
  );

  test(
    'a system has the template of own-templates.md',
    async () => {
      const [file, command] = blocksIn('own-templates.md');
      mkdirSync(join(folder, 'templates'));
      writeFileSync(join(folder, 'templates', 'late.json'), file.content);
      await start(command);
      expect((await read('/v1/templates/tpl_late_deliveries')).name).toBe('Late deliveries');
    },
    limitMs,
  );

  test(
    'a receiver gets the test event of webhook-receivers.md',
    async () => {
      const [command, proxy, register, sendTest] = blocksIn('webhook-receivers.md');
      const [names] = blocksOf(readFileSync('docs/guides/webhook-receivers.md', 'utf8'));
      await start(command);
      open(proxy.content);
      await until('the proxy listens', () => canConnect(ports.proxy));
      const receiver = open(`${names.content}\n${register.content}`, { PORT: String(ports.receiver) });
      await receiver.waitFor(/listening/);
      open(`${names.content}\n${sendTest.content}`);
      await receiver.waitFor(/webhook\.test/);
    },
    limitMs,
  );
});

function canConnect(port) {
  const socket = connect(port, '127.0.0.1');
  return new Promise((settle) => {
    socket.once('connect', () => settle(true)).once('error', () => settle(false));
  }).finally(() => socket.destroy());
}
