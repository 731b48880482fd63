// Long suites begin first, so that no worker is left with one at the end. Jest knows how long a suite took where it has run before;
// on a fresh clone these folders and names stand for it.
const { readFileSync } = require('node:fs');
const { default: Sequencer } = require('@jest/test-sequencer');

const longFirst = [
  /services\/gateway\/test\/faults\//,
  /\/test\/blast\//,
  /services\/(agents|webhooks|templates|credits)\/test\/.*(poison|killed|faults)/,
  /services\/gateway\/test\/system\//,
  /services\/(answer-worker|webhook-dispatcher|templates)\/test\//,
  /packages\/(business-data|queues|local)\/test\//,
];
const rankOf = ({ path }) => {
  const rank = longFirst.findIndex((pattern) => pattern.test(path));
  return rank === -1 ? longFirst.length : rank;
};

/** Suites on the shared system run one after the other: an idle system costs a tenth of a core, and one that stopped has to boot again. */
const usesSharedSystem = ({ path }) => /\b(sharedSystem|shareWorld)\(/.test(readFileSync(path, 'utf8'));

module.exports = class LongFirst extends Sequencer {
  sort(tests) {
    const sorted = super.sort([...tests]);
    const isKnown = sorted.every(({ duration }) => typeof duration === 'number');
    if (!isKnown) sorted.sort((a, b) => rankOf(a) - rankOf(b));
    const shared = sorted.filter(usesSharedSystem);
    const first = sorted.indexOf(shared[0]);
    return sorted.flatMap((test, index) => (index === first ? shared : shared.includes(test) ? [] : [test]));
  }
};
