// npm run test:long -- portal: one system for all of them, in an order in which none disturbs the next.
import { afterAll, beforeAll, jest } from '@jest/globals';
import { testActions } from './actions.ts';
import { testChanges } from './changes.ts';
import { testChat } from './chat.ts';
import { testEveryPage } from './every-page.ts';
import { testFocus } from './focus.ts';
import { testHostileAnswers } from './hostile.ts';
import { testInputMethods } from './input-methods.ts';
import { testInterruptions } from './interruptions.ts';
import { testJourney } from './journey.ts';
import { testKeyboard } from './keyboard.ts';
import { testManyRows } from './many-rows.ts';
import { testModes } from './modes.ts';
import { testPeople } from './people.ts';
import { testProviderSignIn } from './provider-sign-in.ts';
import { testReferencePage } from './reference.ts';
import { testSessionEnd } from './session-end.ts';
import { type PagesWorld, startPages, testMs } from './world.ts';

const startMs = 300_000;

jest.setTimeout(testMs);

let world: PagesWorld | undefined;
beforeAll(async () => {
  world = await startPages();
}, startMs);
afterAll(() => world?.stop());

const started = (): PagesWorld => {
  if (!world) throw new Error('the system did not start');
  return world;
};

testJourney(started);
testInputMethods(started);
testActions(started);
testChat(started);
testChanges(started);
testInterruptions(started);
testPeople(started);
testProviderSignIn(started);
testSessionEnd(started);
testEveryPage(started);
testManyRows(started);
testModes(started);
testKeyboard(started);
testFocus(started);
testHostileAnswers(started);
testReferencePage(started);
