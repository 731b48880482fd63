import { afterEach } from '@jest/globals';
import type { PagesWorld, Visit } from './world.ts';

/** As many pages at once as keep two cores busy. */
const tabs = 2;

/** Checks each page in one of some tabs; resolves to what is wrong with them. */
export async function onEachPage(
  pages: Readonly<Record<string, string>>,
  openTab: () => Promise<Visit>,
  check: (visit: Visit, path: string, name: string) => Promise<readonly string[]>,
): Promise<string[]> {
  const waiting = Object.entries(pages);
  const findings: string[] = [];
  const work = async () => {
    const visit = await openTab();
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [name, path] = next;
      findings.push(...(await check(visit, path, name)).map((line) => `${name}: ${line}`));
    }
    findings.push(...visit.problems);
  };
  await Promise.all(Array.from({ length: tabs }, work));
  return findings;
}

/** Returns how the tests of a group visit the portal; the visits of a test are closed after it. */
export function visitsOfEachTest(world: () => PagesWorld): PagesWorld['visit'] {
  let open: Visit[] = [];
  afterEach(async () => {
    await Promise.all(open.map((visit) => visit.close()));
    open = [];
  });
  return async (options) => {
    const visit = await world().visit(options);
    open.push(visit);
    return visit;
  };
}
