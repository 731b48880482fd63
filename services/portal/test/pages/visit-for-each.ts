import { afterEach, beforeAll, beforeEach, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { type PagesWorld, sharedPaths, type Visit } from './world.ts';

interface Opened {
  readonly world: PagesWorld;
  readonly paths: Record<string, string>;
  readonly visit: Visit;
  readonly page: Page;
}

/** Opens a visit for each test of a group, with the paths that the groups share. Each ends without a problem of its page. */
export function visitForEach(started: () => PagesWorld, use: (opened: Opened) => void): void {
  let world: PagesWorld;
  let paths: Record<string, string>;
  let visit: Visit;
  beforeAll(async () => {
    world = started();
    paths = await sharedPaths(world);
  });
  beforeEach(async () => {
    visit = await world.visit();
    use({ world, paths, visit, page: visit.page });
  });
  afterEach(async () => {
    expect(visit.problems).toEqual([]);
    await visit.close();
  });
}
