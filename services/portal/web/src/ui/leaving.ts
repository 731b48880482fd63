import { useBlocker } from '@tanstack/react-router';
import { useEffect } from 'react';

/** Questions about what would be lost on the page that is shown. */
const questions = new Set<string>();

interface LeavingOptions {
  question: string;
  /** True while something would be lost. */
  isAsked: boolean;
  /** A change that is under way goes on after its page is left, but not after the document ends. */
  isSending?: boolean;
}

/** Asks before the page is left, by a link, by Back or by a sign-out. Before the document ends the browser asks in its own words. */
export function useQuestionBeforeLeaving({ question, isAsked, isSending = false }: LeavingOptions): void {
  useEffect(() => {
    if (!isAsked) return;
    questions.add(question);
    return () => void questions.delete(question);
  }, [question, isAsked]);
  useBlocker({
    // A link to a part of the page leaves nothing.
    shouldBlockFn: ({ current, next }) => current.pathname !== next.pathname && !isSending && !window.confirm(question),
    enableBeforeUnload: () => questions.has(question),
    disabled: !isAsked,
  });
}

/** Asks what has to be asked before this document ends. */
export const confirmLeaving = (): boolean => [...questions].every((question) => window.confirm(question));

/** To be called when the user has confirmed it: the browser does not ask again. */
export const forgetQuestions = (): void => questions.clear();
