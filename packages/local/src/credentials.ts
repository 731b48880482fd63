import { z } from 'zod';
import { readJsonIfWhole } from './files.ts';

const schema = z.object({
  base_url: z.string(),
  organization_id: z.string(),
  api_keys: z.object({ live: z.string(), test: z.string() }),
  oauth: z.object({ client_id: z.string(), client_secret: z.string() }),
});

/** What `npm start` leaves in DATA_DIR/credentials.json: the one clear copy of the demonstration's keys besides the banner. */
export type Credentials = z.output<typeof schema>;

/** Undefined where there is no such file, or none that is whole: then new credentials are made. */
export function readCredentials(path: string): Credentials | undefined {
  return readJsonIfWhole(path, schema);
}
