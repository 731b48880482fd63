// The words that this repository does not use, by where they stand, each with what to write instead. docs/glossary.md and CONTRIBUTING.md say why.

/** In comments, texts (errors, log lines, test titles) and documents. */
export const prose = [
  { pattern: /\b(whoever|whomever|whosoever|somebody|nobody|anybody|everybody)\b/gi, instead: 'name the process, request or tenant' },
  { pattern: /\bmeanwhile\b/gi, instead: 'in the meantime, or say what happens first' },
  { pattern: /\b(another|other)\s(?!\n)\s*ones?\b/gi, instead: 'repeat the noun' },
  { pattern: /\bwhatever\b/gi, instead: 'any, or name the cases' },
  { pattern: /\b(gives?|gave|given|giving) back\b/gi, instead: 'release, return' },
  { pattern: /\b(a|one|each|every|another|next|last|second|first) try\b/gi, instead: 'attempt' },
  { pattern: /\b(each|every|another|next|last) look\b(?!-)/gi, instead: 'check, query' },
  { pattern: /\b(woken|wakes? up|(puts?|comes?) to rest|left alone|leaves? alone)\b/gi, instead: 'activate, start, end, skip' },
  { pattern: /\b(anew|afresh)\b/gi, instead: 'again' },
  { pattern: /\bcan\s(?!\n)\s*not\b/gi, instead: 'cannot' },
  { pattern: /\bheed(s|ed|ing)?\b/gi, instead: 'abort with, follow' },
  { pattern: /\bdisown(s|ed|ing)?\b/gi, instead: 'release' },
  { pattern: /\blenders?\b/gi, instead: 'pool' },
  { pattern: /\b(duty|duties)\b/gi, instead: 'pending settlement, pending release, retry queue' },
  { pattern: /\bstandings?\b/gi, instead: 'status, state, snapshot' },
  { pattern: /\bhow-?manieth\b/gi, instead: 'sequence number' },
  { pattern: /\bin (his|its|their) stead\b/gi, instead: 'say who does what' },
  { pattern: /(?<!\b(by|other|on) )\b(hand|hands|handed|handing)\b(?!-written)/gi, instead: 'lease, in-flight; pass, dispatch, return' },
];

/** A sentence does not begin with these, unless it is a question. */
export const bareOpenings = /(?<=^|[.!?:;]\s+|\n\s*\n\s*)(What|Whose|Of|Whether)\b(?![^.!?]*\?)/g;

/** Words that no declared name contains. */
export const wordsOfNames = {
  standing: 'status, state, snapshot',
  standings: 'statuses, states, snapshots',
  place: 'target, account, key, entry',
  places: 'semaphore, targets, accounts',
  hand: 'inFlight, lease',
  hands: 'inFlight, leases',
  duty: 'retryQueue, pending',
  duties: 'retryQueues, pending',
  heed: 'abortable',
  heeding: 'abortable',
  gone: 'disconnected, deleted, missing',
  disown: 'releaseUnused',
  lender: 'pool',
  ender: 'endAnswer',
  steadiness: 'health',
  whoever: 'caller',
  whose: 'owner',
  anew: 'again',
  nobody: 'none',
  somebody: 'caller',
  stead: 'substitute',
  halves: 'batch',
  howmanieth: 'sequence',
};

/** Names that say nothing alone: past participles, and verbs of the old dialect. */
export const wholeNames = {
  settled: 'settlements, isSettled',
  found: 'row, match, agent, ...',
  given: 'input, options, required',
  kept: 'remaining, retained',
  asked: 'requested, requests',
  told: 'notified, isNotified',
  held: 'holds, isHeld',
  taken: 'claimed rows by name',
  made: 'created, result by name',
  begun: 'attempt, isStarted',
  said: 'message',
  seen: 'seenIds, visited',
  drawn: 'format',
  chosen: 'choice, selection',
  got: 'result by name',
  shown: 'output',
  wanted: 'expected, target',
  meant: 'intended',
  heard: 'received',
  brought: 'result by name',
  broken: 'failure',
  lent: 'checkedOut',
  posted: 'response',
  perform: 'run',
  see: 'retry',
  raise: 'raisePriority',
  Parts: 'Deps',
};
