import { expect, test } from '@jest/globals';
import { englishFor } from '../web/src/ui/locale.ts';

test('dates and numbers are in English, as the pages, with the conventions of the region of the browser', () => {
  const languages = ['en', 'en-GB', 'de', 'de-AT', 'ar-EG', 'zh-Hant-TW', 'qaa'];
  expect(languages.map(englishFor)).toEqual(['en', 'en-GB', 'en-DE', 'en-AT', 'en-EG', 'en-TW', 'en']);
  const past = (language: string) => new Intl.RelativeTimeFormat(englishFor(language)).format(-2, 'hour');
  expect(['de', 'ar-EG', 'he'].map(past)).toEqual(['2 hours ago', '2 hours ago', '2 hours ago']);
  expect(new Intl.NumberFormat(englishFor('ar-EG')).format(99_996)).toBe('99,996');
});
