// Checks the payloads of jobs: a job that one release has queued is run by a worker of the next one, and the other way round.

/** Findings over the kinds of jobs; each is `{ queue, payload }` with the payload's JSON schema. */
export function checkJobs(jobs, released) {
  return Object.entries(released).flatMap(([name, before]) => {
    const now = jobs[name];
    if (now === undefined) return [`${name}: a released kind of job was removed`];
    if (now.queue !== before.queue) return [`${name}: its queue was renamed from ${before.queue}`];
    return checkSchema(now.payload, before.payload).map((finding) => `${name}: ${finding}`);
  });
}

function checkSchema(now, before, path = 'the payload') {
  if (before.type === 'array')
    return now.type === 'array' ? checkSchema(now.items, before.items, `${path}[]`) : [`${path} is no list any more`];
  if (before.type !== 'object') return isSame(now, before) ? [] : [`${path} was changed`];
  const fields = Object.entries(before.properties).flatMap(([name, schema]) => {
    const field = now.properties?.[name];
    return field === undefined ? [`${path}.${name} was removed`] : checkSchema(field, schema, `${path}.${name}`);
  });
  const [required, requiredBefore] = [now.required ?? [], before.required ?? []];
  return [
    ...fields,
    ...required
      .filter((name) => !requiredBefore.includes(name))
      .map((name) => `${path}.${name} is required, and jobs of the release before lack it`),
    ...requiredBefore
      .filter((name) => !required.includes(name))
      .map((name) => `${path}.${name} is optional, and workers of the release before need it`),
  ];
}

const isSame = (a, b) => JSON.stringify(a) === JSON.stringify(b);
