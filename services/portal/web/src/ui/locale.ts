/** English, which the pages are written in, with the conventions of a region for dates and numbers: of that of the language where it names none. */
export function englishFor(language: string): string {
  const { language: name, region } = new Intl.Locale(language).maximize();
  if (name === 'en') return language;
  return region ? `en-${region}` : 'en';
}

/** The locale of every date and number: `vor 2 Minuten` within an English sentence reads and sounds wrong. */
export const locale: string = englishFor(navigator.language);
