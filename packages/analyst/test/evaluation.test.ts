import { testDatabase } from '@agent-service/testkit';
import { beforeAll, expect, test } from '@jest/globals';
import { floors } from '../evaluation/floors.ts';
import { evaluateAnalyst } from '../evaluation/index.ts';
import { reportedIds } from '../evaluation/questions.ts';

const everyWording = Number(process.env['ANALYST_EVERY_WORDING'] ?? 3);

let evaluation: Awaited<ReturnType<typeof evaluateAnalyst>>;
beforeAll(async () => {
  evaluation = await evaluateAnalyst(['tuned', 'hardening'], testDatabase, { hardening: everyWording });
}, 600_000);

test.each(['tuned', 'hardening'] as const)('the %s part of the evaluation keeps its score', (part) => {
  const { wordings, right, wrong } = evaluation.scores[part];
  const share = { right: right / wordings, wrong: wrong / wordings };
  const isKept = share.right >= floors[part].right && share.wrong <= floors[part].wrong;
  expect({ isKept, share, failures: isKept ? [] : evaluation.failures }).toEqual({ isKept: true, share, failures: [] });
});

test.each(reportedIds())('a question in which users reported a silent error is right or asked back: %s', (id) => {
  expect(evaluation.failures.filter((failure) => failure.startsWith(`wrong: demonstration/${id} `))).toEqual([]);
});
