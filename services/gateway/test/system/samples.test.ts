// The code samples of the reference page, run as they are against a running system. This is a long form, since each is a program of its
// own and Python's packages come from PyPI: npm run test:long -- samples
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pythonWith, runProgram } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { everyRoute } from '../../src/routes/index.ts';
import type { Route } from '../../src/routing/route.ts';
import { type DemonstrationWorld, openDemonstrationWorld } from './demonstration.ts';
import { makeIds, title } from './requests.ts';

interface Sample {
  readonly label: string;
  readonly source: string;
}

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema?: { readonly example?: string } }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: Readonly<Record<string, unknown>> }>> };
  readonly 'x-codeSamples': readonly Sample[];
}

const long = process.env['SAMPLES'] === 'long' ? describe : describe.skip;
/** Inside the repository, from where the client's package is found. */
const folder = resolve('.cache', 'samples');
const languages: Readonly<Record<string, { file: string; words(programs: string): [string, string[]] }>> = {
  curl: { file: 'sample.sh', words: () => ['bash', ['-eu']] },
  TypeScript: { file: 'sample.ts', words: () => [process.execPath, []] },
  Python: { file: 'sample.py', words: (programs) => [join(programs, 'python'), []] },
};

long('every code sample of the reference page succeeds:', () => {
  let opened: DemonstrationWorld<Operation>;
  let programs: string;
  let env: Record<string, string>;

  beforeAll(async () => {
    const project = readFileSync('clients/python/pyproject.toml', 'utf8');
    const [, packages = '[]'] = /^dependencies = (\[.*\])$/m.exec(project) ?? [];
    programs = await pythonWith('samples', JSON.parse(packages) as string[]);
    opened = await openDemonstrationWorld();
    mkdirSync(folder, { recursive: true });
    // curl ends with an error where the answer is one.
    writeFileSync(join(folder, '.curlrc'), 'fail-with-body\nsilent\nshow-error\n');
    env = {
      AGENT_SERVICE_URL: opened.world.system.url,
      AGENT_SERVICE_KEY: opened.demonstration.keys.live,
      CURL_HOME: folder,
      PYTHONPATH: resolve('clients/python/src'),
      PYTHONDONTWRITEBYTECODE: '1',
      PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
    };
  }, 400_000);
  afterAll(() => opened?.world.stop(), 60_000);

  /** The sample with what exists in this system in the place of the examples. */
  async function adapt(source: string, route: Route, { parameters = [], requestBody }: Operation): Promise<string> {
    const ids = await makeIds(opened.world, opened.demonstration, route);
    const [media] = Object.values(requestBody?.content ?? {});
    const body = Object.entries({ ...media?.example }).flatMap(([name, value]) => {
      const actual = name === 'email' ? `${crypto.randomUUID()}@made.example` : opened.own[name];
      return actual === undefined || typeof value !== 'string' ? [] : [[value, actual] as const];
    });
    const path = parameters.flatMap(({ name, in: location, schema }) =>
      location === 'path' && schema?.example ? [[schema.example, ids[name] ?? ''] as const] : [],
    );
    return [...path, ...body].reduce((text, [example, actual]) => text.replaceAll(example, actual), source);
  }

  const samples = everyRoute.flatMap((route) =>
    Object.keys(languages).map((label) => ({ name: `${title(route)} in ${label}`, route, label })),
  );
  test.each(samples)('$name', async ({ route, label }) => {
    const operation = opened.operations[route.path]?.[route.method.toLowerCase()] as Operation;
    const sample = operation['x-codeSamples'].find((one) => one.label === label);
    const { file, words } = languages[label] as (typeof languages)[string];
    writeFileSync(join(folder, file), await adapt(sample?.source ?? '', route, operation));
    const [command, options] = words(programs);
    await expect(runProgram(command, [...options, join(folder, file)], { cwd: folder, env })).resolves.toEqual(expect.any(String));
  });
});
