import { useBlocker } from '@tanstack/react-router';

interface LeavingOptions {
  question: string;
  /** True while something would be lost. */
  isAsked: boolean;
  /** A change that is under way goes on after its page is left, but not after the document ends. */
  isSending?: boolean;
}

/** Asks before the page is left, by a link or by Back. Before the document ends the browser asks in its own words. */
export function useQuestionBeforeLeaving({ question, isAsked, isSending = false }: LeavingOptions): void {
  useBlocker({
    // A link to a part of the page leaves nothing.
    shouldBlockFn: ({ current, next }) => current.pathname !== next.pathname && !isSending && !window.confirm(question),
    enableBeforeUnload: true,
    disabled: !isAsked,
  });
}
