import { join } from 'node:path';
import { readCredentials } from './secrets.ts';

interface BannerOptions {
  readonly url: string;
  /** Has the credentials. */
  readonly dataDir: string;
  /** How the system is stopped, as the end of a sentence. */
  readonly stop: string;
  /** Further lines: a name and a value. */
  readonly rows: readonly (readonly [string, string])[];
}

/** The addresses, keys and folders of a system, and first calls to copy. */
export function banner({ url, dataDir, stop, rows: further }: BannerOptions): string {
  const credentials = readCredentials(join(dataDir, 'credentials.json'));
  const keys = credentials?.api_keys;
  const login = credentials?.portal_login;
  const rows: (readonly [string, string | undefined])[] = [
    ['API', url],
    ['Reference', `${url}/docs`],
    ['Portal', credentials?.portal_url],
    ['Sign in as', login && `${login.email}   ${login.password}`],
    ['Key (live)', keys?.live],
    ['Key (test)', keys?.test],
    ...further,
  ];
  const width = Math.max(...rows.map(([name]) => name.length)) + 2;
  const lines = rows.flatMap(([name, value]) => (value === undefined ? [] : [`  ${name.padEnd(width)}${value}`]));
  const steps = keys?.live === undefined ? [] : ['', ...firstSteps(url, keys.live, credentials?.has_demonstration_data).flatMap(stepLines)];
  return ['', `  Agent Service is ready. ${stop} stops it.`, '', ...lines, ...steps, ''].join('\n');
}

interface FirstStep {
  readonly title: string;
  /** For a POSIX shell; the commands follow each other in one shell. */
  readonly command: string;
  /** The output with … for what differs. */
  readonly output: string;
}

/** Three things to try, to be copied into one shell. */
export function firstSteps(url: string, key: string, hasData = true): FirstStep[] {
  const post = `curl -s -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json'`;
  return [
    {
      title: '1. Make an agent from a template (again: it is the same agent)',
      command: [
        `KEY=${key}`,
        `AGENT=$(${post} -d '{}' ${url}/v1/templates/tpl_customer_insights/activate | grep -o 'agt_[0-9A-Za-z]*' | head -1); echo $AGENT`,
      ].join('\n'),
      output: 'agt_…',
    },
    {
      title: hasData ? '2. Ask it a question over the demonstration company' : '2. Ask it a question',
      command: `${post} -d '{"message":"How many customers do we have by segment?"}' ${url}/v1/agents/$AGENT/messages`,
      output: `{"data":{…"role":"assistant","content":"…${hasData ? 'small business…' : ''}"…}}`,
    },
    {
      title: '3. See what that cost',
      command: `curl -s -H "Authorization: Bearer $KEY" ${url}/v1/credits/balance`,
      output: '{"data":{…"balance":…}}',
    },
  ];
}

const stepLines = ({ title, command, output }: FirstStep) => [
  `  ${title}:`,
  ...command.split('\n').map((line) => `    ${line}`),
  `    -> ${output}`,
  '',
];
