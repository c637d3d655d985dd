// Chromium for the tests of pages: where it is, what goes wrong in a page, and what axe finds.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium, type Page } from 'playwright-core';
import { HANG } from '../setup/patience.ts';

/** Undefined on a machine without one. */
export const PROGRAM = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
  .map((name) => spawnSync('which', [name], { encoding: 'utf8' }).stdout.trim())
  .find((path) => path !== '');

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * The suggestions of the address bar are two pages more for each window, which cost a second of processor time. The
 * last list of features counts, so this one names again those of Playwright that ask somebody outside.
 */
const DISABLED = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'AimEnabled',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PreconnectToSearch',
];

export const launch = () =>
  chromium.launch({
    executablePath: PROGRAM ?? '',
    args: ['--no-sandbox', `--disable-features=${DISABLED.join(',')}`],
    timeout: HANG,
  });

/** Notes exceptions and errors of the browser's console. @param isExpected leaves a text out */
export function noteFaults(
  page: Page,
  faults: string[],
  isExpected: (text: string) => boolean = () => false,
): void {
  page.on('pageerror', ({ message }) => faults.push(message));
  page.on('console', (line) => {
    if (line.type() === 'error' && !isExpected(line.text())) faults.push(`${page.url()} ${line.text()}`);
  });
}

type Theme = 'light' | 'dark';

/** The rules of axe on which the themes differ: their colours. */
const RULES_OF_COLOURS = ['color-contrast', 'link-in-text-block'];

/** @param theme of the page; the dark one is judged by its colours alone. @returns the violations that axe finds */
export async function judge(page: Page, theme: Theme = 'light'): Promise<string[]> {
  // By the debugger: the page's policy refuses inline scripts, as it should.
  const debuggerOfPage = await page.context().newCDPSession(page);
  await debuggerOfPage.send('Runtime.evaluate', { expression: AXE });
  // Describing the nodes that pass costs more than finding those that do not.
  const rules = theme === 'light' ? {} : { runOnly: RULES_OF_COLOURS };
  const options = JSON.stringify({ resultTypes: ['violations'], ...rules });
  const { result } = await debuggerOfPage.send('Runtime.evaluate', {
    expression: `axe.run(${options}).then(({ violations }) => JSON.stringify(
        violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html).join(' '))))`,
    awaitPromise: true,
  });
  await debuggerOfPage.detach();
  return JSON.parse(result.value);
}

/** @returns what a telephone shows only where the whole page is moved: a table moves alone */
export async function findSideways(page: Page): Promise<string[]> {
  const before = page.viewportSize() ?? { width: 1_280, height: 720 };
  await page.setViewportSize({ width: 400, height: 900 });
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  await page.setViewportSize(before);
  return width > 400 ? [`${width} pixels wide on a screen of 400`] : [];
}

/** Goes through the bars of a chart by keys. @returns where Tab stops and where the keys lead, from the newest on */
export async function walkBars(page: Page, keys: readonly string[]) {
  const bars = page.locator('figure.chart a');
  await bars.last().focus();
  for (const key of keys) await page.keyboard.press(key);
  return bars.evaluateAll((all) => {
    const placeOf = (isOne: (bar: Element) => boolean) =>
      all.flatMap((bar, n) => (isOne(bar) ? [all.length - n] : []));
    const [at] = placeOf((bar) => bar === document.activeElement);
    return { stops: placeOf((bar) => (bar as SVGAElement).tabIndex === 0), at };
  });
}

/** @returns what axe finds in both themes */
export async function judgeThemes(page: Page): Promise<string[]> {
  const found: string[] = [];
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme });
    found.push(...(await judge(page, theme)).map((violation) => `${theme} ${page.url()} ${violation}`));
  }
  return found;
}
