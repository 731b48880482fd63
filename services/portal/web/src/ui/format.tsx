import { useSyncExternalStore } from 'react';
import { createListeners } from './listeners.ts';
import { locale } from './locale.ts';

const number = new Intl.NumberFormat(locale);
const dateTime = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'medium' });
const minute = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
const day = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' });
/** For a date without a time, which is a day of UTC. */
const utcDay = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' });
const dateOnly = /^\d{4}-\d{2}-\d{2}$/;
const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' });

export const formatNumber = (value: number): string => number.format(value);
export const formatDay = (iso: string): string => (dateOnly.test(iso) ? utcDay : day).format(new Date(iso));

/** A word of the API, as it stands in a badge. */
export const capitalize = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

export const plural = (count: number, one: string): string => `${formatNumber(count)} ${one}${count === 1 ? '' : 's'}`;

const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['minute', 60],
  ['hour', 3_600],
  ['day', 86_400],
];

/** `3 minutes ago`; after a week the date. */
function formatAge(iso: string): string {
  const seconds = (new Date(iso).getTime() - Date.now()) / 1000;
  const size = Math.abs(seconds);
  if (size < 45) return 'just now';
  if (size > 7 * 86_400) return formatDay(iso);
  const [unit, length] = units.findLast(([, least]) => size >= least) ?? ['minute', 60];
  return relative.format(Math.round(seconds / length), unit);
}

const minuteMs = 60_000;
const listeners = createListeners();
let timer: ReturnType<typeof setInterval> | undefined;

/** One timer for all times of a page, which may stay open for a day. */
export function subscribeToMinutes(listener: () => void) {
  const unsubscribe = listeners.subscribe(listener);
  timer ??= setInterval(listeners.notify, minuteMs);
  return () => {
    unsubscribe();
    if (!listeners.isEmpty()) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** A time as its age, with the exact time as its title. */
export function Time({ iso, fallback = '–' }: { iso: string | null | undefined; fallback?: string }) {
  return iso ? <Age iso={iso} /> : <span className="muted">{fallback}</span>;
}

function Age({ iso }: { iso: string }) {
  const age = useSyncExternalStore(subscribeToMinutes, () => formatAge(iso));
  return (
    <time dateTime={iso} title={dateTime.format(new Date(iso))}>
      {age}
    </time>
  );
}

export const formatDateTime = (iso: string): string => minute.format(new Date(iso));
