import { expect, test } from '@jest/globals';
import { blocksOf, proseOf } from './blocks.mjs';
import { commandFaults } from './commands.mjs';
import { findFaults } from './faults.mjs';

const fence = '```';
const faulty = `# A document

[nowhere](missing.md) [no heading](#missing) [a heading](#a-document) and \`npm run missing\`.

${fence}sh run needs=docker
npm run --silent admin -- key create --colour blue
npm run --silent admin -- key paint
npm run --silent admin -- key revoke --key ID
npm run test:long -- missing
node scripts/missing.mjs
if
${fence}

${fence}ts run needs=docker
const text: string = 1;
${fence}

${fence}json
{ "a": }
${fence}

${fence}text output
nothing ran
${fence}
`;

test('links, commands and code that do not exist or compile are named with their document', () => {
  const { faults } = findFaults(new Map([['docs/faulty.md', faulty]]));
  for (const part of [
    '[nowhere]',
    '](missing.md)',
    '](#missing)',
    '"npm run missing"',
    'key create --colour',
    'admin key paint',
    'test:long -- missing',
  ])
    expect([part, part.startsWith('[') || faults.some((fault) => fault.includes(part))]).toEqual([part, true]);
  expect(faults.filter((fault) => fault.includes('leads nowhere'))).toHaveLength(2);
  expect(faults).toContain('docs/faulty.md: there is no command "node scripts/missing.mjs"');
  expect(faults.find((fault) => fault.includes('TS2322'))).toMatch(/^docs\/faulty\.md:15: /);
  expect(faults.find((fault) => fault.includes('syntax error'))).toMatch(/^docs\/faulty\.md:5: /);
  expect(faults.some((fault) => fault.startsWith('docs/faulty.md:18: '))).toBe(true);
  expect(faults).toContain('docs/faulty.md:22: an output without a block that is run before it');
  expect(faults.join('\n')).not.toMatch(/key revoke|a-document/);
}, 120_000);

test.each([
  ['npm strat', 'npm strat'],
  ['cd folder && npm run biuld', 'npm run biuld'],
  ['npm run test:long -- --tmies 3', 'npm run test:long -- --tmies'],
  ['npm run bench -- answers-latncy', 'npm run bench -- answers-latncy'],
  ['docker bulid -f deploy/Dockerfile .', 'docker bulid'],
  ['docker build -f deploy/Dockerfil -t x .', 'docker build deploy/Dockerfil'],
  ['docker build -f deploy/Dockerfile -t x nowhere', 'docker build nowhere'],
  ['docker compose -f compose.yml up', 'docker compose … compose.yml'],
  ['docker compose pu', 'docker compose pu'],
  ['docker compose logs gatway', 'docker compose … gatway'],
  ['docker compose up --scale agent=2', 'docker compose … agent'],
  ['docker compose run --rm admin credits verfy', 'admin credits verfy'],
  ['docker compose run --rm admin credits verify --ful', 'credits verify --ful'],
  ['helm instal x deploy/helm/agent-service', 'helm instal'],
  ['helm install x deploy/helm/agent-servic', 'helm install deploy/helm/agent-servic'],
  [
    'helm upgrade x deploy/helm/agent-service -f deploy/helm/agent-service/examples/big.yaml',
    'helm upgrade -f deploy/helm/agent-service/examples/big.yaml',
  ],
  ['helm install x deploy/helm/agent-service --set image.repo=y', 'helm install --set image.repo'],
  ['node examples/cli-chat/chatt.ts', 'node examples/cli-chat/chatt.ts'],
  ['node_modules/.bin/node scripts/build/clients.mjs /tmp/x', 'node scripts/build/clients.mjs'],
  ['node scripts/newcomer.mjs --every', 'node scripts/newcomer.mjs --every'],
  ['X=$(python3 examples/receiver.py)', 'python3 examples/receiver.py'],
  ['go run examples/webhook-receiver/main.go', 'go examples/webhook-receiver/main.go'],
  ['deploy/drills/compse.sh', 'deploy/drills/compse.sh'],
  ['kubectl exec x -- node /app/entrypoint.mjs amin credits verify', 'entrypoint.mjs amin'],
  ['WEBHOOK_ENABLED=true npm start', 'WEBHOOK_ENABLED'],
])('the command %s is a fault', (command, fault) => {
  expect(commandFaults(`${fence}sh\n${command}\n${fence}`)).toEqual([fault]);
  expect(commandFaults(`Run \`${command}\` first.`)).toEqual([fault]);
});

test('a program that the documents do not know is a fault within a block, unless the block defines it', () => {
  const block = (commands) => `${fence}sh\n${commands}\n${fence}`;
  expect(commandFaults(block('nmp start\n./scripts/nothing.sh\ncurl -s x | gerp y'))).toEqual(['nmp', './scripts/nothing.sh', 'gerp']);
  expect(commandFaults(block('ask() { curl -s "$1"; }\nask x && "$PROGRAM" y'))).toEqual([]);
  expect(commandFaults('A word as `organization` is no program.')).toEqual([]);
});

test('forms of links, fences and languages that nothing checks are faults', () => {
  const text = `[one](a.md "title") <img src="b.png"> and\n\n[two]: c.md\n\n~~~sh\n${fence}bash\nnpm strat\n${fence}\n${fence}\nx\n${fence}\n`;
  const { faults } = findFaults(new Map([['a.md', text]]));
  expect(faults.filter((fault) => fault.includes(': write '))).toHaveLength(4);
  expect(faults.filter((fault) => fault.includes('the language "'))).toEqual([
    expect.stringMatching(/^a\.md:6: the language "bash"/),
    expect.stringMatching(/^a\.md:9: the language ""/),
  ]);
}, 120_000);

test('commands that exist are no faults, and neither are files that the document has its reader save', () => {
  const commands = `
npm start && npm test -- --onlyFailures && npm ci && npm run structure -- packages/store --list
WEBHOOKS_ENABLED=true PORT=8090 npm start
docker build -f deploy/Dockerfile -t agent-service:0.1.0 --build-arg VERSION=0.1.0 .
docker compose --profile webhooks up -d --build --scale agents=2; docker compose run --rm admin organization list
helm upgrade --install x deploy/helm/agent-service -n agents -f values.yaml --set image.tag=NEW,image.digest= --wait --timeout 5m
for file in $(ls); do node examples/cli-chat/chat.ts "$AGENT"; node "$file"; done | node -p 'require("fs")' # npm strat
node scripts/newcomer.mjs --all
node own.ts --colour blue`;
  expect(commandFaults(`${fence}ts as=own.ts\n${fence}\n\n${fence}sh\n${commands}\n${fence}`)).toEqual([]);
});

test('SQL, INI, and blocks that nothing runs are judged by their language and their marks', () => {
  const block = (words, content) => `${fence}${words}\n${content}\n${fence}\n`;
  const text = [
    block('sql', 'create role x login;'),
    block('sql', 'grant on x;'),
    block('ini', '[pgbouncer]\npool_mode = transaction\nand so on'),
    block('sh', 'true'),
    block('python by=scripts/nowhere.mjs', 'pass'),
    block('python by=package.json', 'pass'),
    block('sh run needs=luck', 'true'),
    block('sh run', 'true'),
    block('sh needs=docker', 'true'),
    block('sh terminal', 'true'),
    block('sh run needs=docker,registry', 'true'),
  ].join('');
  const { faults, notes } = findFaults(new Map([['a.md', text]]));
  expect(faults).toEqual([
    'a.md:4: syntax error at or near "on"',
    'a.md:7: "and so on" is no section and no setting',
    expect.stringMatching(/^a\.md:12: is not run: mark it/),
    'a.md:15: by=scripts/nowhere.mjs names no test that runs it',
    'a.md:18: by=package.json names no test that runs it',
    expect.stringMatching(/^a\.md:21: needs=luck is none of docker/),
    'a.md:27: needs= and terminal are for blocks that are run',
    'a.md:30: needs= and terminal are for blocks that are run',
  ]);
  expect(notes[1]).toMatch(/^3 blocks are run .* has what they need: 2 a Docker engine, 0 Docker Compose, 1 a registry/);
}, 120_000);

test('blocks keep their marks and lines, and prose keeps its lines', () => {
  const [shell, code] = blocksOf(faulty);
  expect([shell?.language, shell?.marks, shell?.line, code?.content]).toEqual([
    'sh',
    ['run', 'needs=docker'],
    5,
    'const text: string = 1;',
  ]);
  expect(proseOf(faulty).split('\n')).toHaveLength(faulty.split('\n').length);
  expect(proseOf(faulty)).not.toContain('key paint');
});
