import axe from 'axe-core';
import type { Page } from 'playwright-core';

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** The rules whose verdict depends on colours. A theme changes nothing but colours. */
const colourRules = ['color-contrast', 'link-in-text-block'];

interface AxeViolation {
  id: string;
  nodes: { html: string; failureSummary?: string }[];
}

/** The violations of WCAG 2.2 AA and of good practice, one line each. An open menu stands outside of all landmarks, as menus do. */
export async function violations(page: Page, runOnly = tags): Promise<string[]> {
  const hasMenu = (await page.getByRole('menu').count()) > 0;
  if (!(await page.evaluate<boolean>('"axe" in globalThis'))) await page.evaluate(axe.source);
  return await page.evaluate(
    async ([isMenuOpen, only]) => {
      const { axe: loaded } = globalThis as unknown as { axe: { run(options: object): Promise<{ violations: AxeViolation[] }> } };
      // Violations alone: what passes would be described as well, which takes most of the time of a long page.
      const result = await loaded.run({ runOnly: only, resultTypes: ['violations'], rules: { region: { enabled: !isMenuOpen } } });
      return result.violations.map(
        ({ id, nodes }) => `${id}: ${nodes.map(({ html, failureSummary }) => `${html.slice(0, 160)} ${failureSummary ?? ''}`).join('; ')}`,
      );
    },
    [hasMenu, runOnly] as const,
  );
}

/** The violations in the light theme, and those of the colours in the dark one. */
export async function violationsInThemes(page: Page): Promise<string[]> {
  const light = await violations(page);
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await violations(page, colourRules);
  await page.emulateMedia({ colorScheme: 'light' });
  return [...light.map((line) => `light: ${line}`), ...dark.map((line) => `dark: ${line}`)];
}
