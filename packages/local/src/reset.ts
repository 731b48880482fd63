import { failureText } from '@agent-service/runtime/failures';
import { environment, repositoryRoot } from './host/environment.ts';
import { removeData } from './system/remove-data.ts';
import { readLocalSettings } from './system/settings.ts';

/** `npm run reset`: removes all data of the local system. */
try {
  const { DATA_DIR, DATABASE_URL } = readLocalSettings(environment, repositoryRoot);
  const left = await removeData(DATA_DIR);
  process.stdout.write(
    left.length === 0
      ? `${DATA_DIR} is removed.\n`
      : `The system's data in ${DATA_DIR} is removed; what is not its own was kept: ${left.join(', ')}\n`,
  );
  if (DATABASE_URL) process.stdout.write('The database of DATABASE_URL was not touched.\n');
} catch (cause) {
  process.stderr.write(`${failureText(cause)}\n`);
  process.exitCode = 1;
}
