import { testDatabase } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';
import { floors } from '../evaluation/floors.ts';
import { evaluateAnalyst } from '../evaluation/index.ts';

test('the tuned half of the evaluation keeps its score', async () => {
  const { scores, failures } = await evaluateAnalyst(['tuned'], testDatabase);
  const { wordings, right, wrong } = scores.tuned;
  const share = { right: right / wordings, wrong: wrong / wordings };
  const isKept = share.right >= floors.tuned.right && share.wrong <= floors.tuned.wrong;
  expect({ isKept, share, failures: isKept ? [] : failures }).toEqual({ isKept: true, share, failures: [] });
});
