import { join } from 'node:path';
import { makeFolder } from './run-folder.ts';
import { sharedInfrastructure } from './settings.ts';

/** An empty folder of its own, removed after the run with whatever was left running by a supervisor in it. */
export async function testFolder(): Promise<string> {
  return await makeFolder(join(sharedInfrastructure().folder, 'test-'));
}
