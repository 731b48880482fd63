import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Receiver, receiver, testFolder } from '@agent-service/testkit';

/** A receiver of deliveries, and the file of its certificate, which a dispatcher has to trust. */
export async function trustedReceiver(answer: Parameters<typeof receiver>[0]): Promise<{ target: Receiver; caFile: string }> {
  const [target, folder] = await Promise.all([receiver(answer), testFolder()]);
  const caFile = join(folder, 'ca.pem');
  writeFileSync(caFile, target.certificate.cert);
  return { target, caFile };
}
