// The order of the suites: long ones first, so that no worker is left with one at the end, and one at a time of those that load the machine.
// Jest knows how long a suite took where it has run before; on a fresh clone these folders and names stand for it.
const { readFileSync } = require('node:fs');
const { default: Sequencer } = require('@jest/test-sequencer');
const { faultSuites } = require('../../scripts/fault-suites.mjs');

/** Suites that load the machine: those of faults, and two that npm test runs as well. */
const loading = new RegExp([...faultSuites, '/faults/faults\\.test', 'services/credits/test/overspend\\.test'].join('|'));

const usualMs = [
  [/\/faults\/faults\.test|\/test\/blast\//, 60_000],
  [loading, 25_000],
  [/services\/gateway\/test\/system\//, 20_000],
  [/services\/(answer-worker|webhook-dispatcher|templates)\/test\//, 15_000],
  [/packages\/(business-data|queues|local)\/test\/|\/evaluation\.test|plans\.test/, 10_000],
  [/./, 2_000],
];
const usualMsOf = ({ path }) => usualMs.find(([pattern]) => pattern.test(path))[1];

/** Suites on the shared system run one after the other: an idle system costs a tenth of a core, and one that stopped has to boot again. */
const usesSharedSystem = ({ path }) => /\b(sharedSystem|share\w*World|openDemonstrationWorld)\(/.test(readFileSync(path, 'utf8'));

module.exports = class LongFirst extends Sequencer {
  constructor(options) {
    super(options);
    this.workers = options.globalConfig.maxWorkers;
  }

  sort(tests) {
    const sorted = super.sort([...tests]);
    const isKnown = sorted.every(({ duration }) => typeof duration === 'number');
    const msOf = (test) => (isKnown ? test.duration : usualMsOf(test));
    if (!isKnown) sorted.sort((a, b) => msOf(b) - msOf(a));
    const isLoading = ({ path }) => loading.test(path);
    return interleave({
      alone: sorted.filter(isLoading),
      others: together(
        sorted.filter((test) => !isLoading(test)),
        usesSharedSystem,
      ),
      workers: this.workers,
      msOf,
    });
  }
};

/** Moves the tests that belong together to the place of the first of them. */
function together(tests, belongs) {
  const group = tests.filter(belongs);
  return tests.flatMap((test) => (test === group[0] ? group : group.includes(test) ? [] : [test]));
}

/** The order in which so many workers take the tests, if no two of those that run alone may overlap. */
function interleave({ alone, others, workers, msOf }) {
  const freeAt = Array(workers).fill(0);
  const order = [];
  let aloneUntil = 0;
  while (order.length < alone.length + others.length) {
    const at = Math.min(...freeAt);
    const left = order.filter((test) => alone.includes(test)).length;
    const isAlone = left < alone.length && (at >= aloneUntil || order.length - left === others.length);
    const test = isAlone ? alone[left] : others[order.length - left];
    freeAt[freeAt.indexOf(at)] = at + msOf(test);
    if (isAlone) aloneUntil = at + msOf(test);
    order.push(test);
  }
  return order;
}
