import { withTimeout } from '@agent-service/work';
import { type ContainerRuntimeClient, getContainerRuntimeClient, ImageName } from 'testcontainers';
import { disableRyukByDefault, images } from './settings.ts';

const engineLimitMs = 5000;
const pullLimitMs = 90_000;
export const runLabel = 'agent-service.test-run';

/** The engine, once it has answered and has the images, or an error that says which of them it is. */
export async function engineWithImages(): Promise<ContainerRuntimeClient> {
  disableRyukByDefault();
  const client = await withTimeout(getContainerRuntimeClient(), engineLimitMs, () => new Error('the engine does not answer'));
  for (const name of [images.postgres, images.redis]) await haveImage(client, ImageName.fromString(name));
  return client;
}

async function haveImage(client: ContainerRuntimeClient, image: ImageName): Promise<void> {
  if (await client.image.exists(image)) return;
  await withTimeout(
    client.image.pull(image),
    pullLimitMs,
    () => new Error(`${image.string} could not be pulled within ${pullLimitMs / 1000} s`),
  );
}

/** Removes the containers of the given runs, whatever state they are in. */
export async function removeContainers(client: ContainerRuntimeClient, isOurs: (run: string) => boolean): Promise<void> {
  const found = await client.container.dockerode.listContainers({ all: true, filters: { label: [runLabel] } });
  const ours = found.filter((container) => isOurs(container.Labels[runLabel] ?? ''));
  await Promise.all(ours.map((container) => client.container.getById(container.Id).remove({ force: true, v: true })));
}
