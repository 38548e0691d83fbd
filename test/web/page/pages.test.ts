import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accessibilityBreaches, chromiumPath, openBrowser, type Theme, visit } from '../support/browser.ts'
import { startTestCluster, type TestCluster } from '../../support/kubernetes-api/test-cluster.ts'
import { type House, startHouse } from '../support/house.ts'
import { PAGES } from '../support/page-list.ts'
import { makeScene, type Scene } from '../support/scene.ts'

/** If set, the screenshots of the documentation are taken again. */
const IMAGES = process.env['LOCKHOUSE_SCREENSHOTS']
const WIDE = IMAGES ? { width: 1280, height: 800 } : { width: 1440, height: 900 }
const PHONE = { width: 375, height: 812 }

/** A colour scheme and a window. */
interface Look {
  readonly theme: Theme
  readonly size: { readonly width: number; readonly height: number }
}

/**
 * Half of the pages are loaded in a light window and then shown in the dark at the other width, so that each is seen in both schemes and at
 * both widths; for pictures all of them are loaded for each look.
 */
const TURNS: readonly {
  readonly name: string
  readonly looks: readonly [Look, ...Look[]]
  readonly pages: typeof PAGES
}[] = IMAGES
  ? (['light', 'dark'] as const).flatMap((theme) =>
      [WIDE, PHONE].map((size) => ({ name: `${theme} at ${size.width}`, looks: [{ theme, size }], pages: PAGES })),
    )
  : [
      { name: 'from a wide window to a dark phone', sizes: [WIDE, PHONE] as const, rest: 0 },
      { name: 'from a phone to a dark wide window', sizes: [PHONE, WIDE] as const, rest: 1 },
    ].map(({ name, sizes: [first, then], rest }) => ({
      name,
      looks: [
        { theme: 'light', size: first },
        { theme: 'dark', size: then },
      ],
      pages: PAGES.filter((_, index) => index % 2 === rest),
    }))

/** Pages that the documentation also shows on a phone. */
const PHONE_PICTURES: readonly string[] = ['tables', 'pipeline', 'approval']

describe.skipIf(chromiumPath === undefined)('every page', () => {
  let house: House
  let browser: Browser
  let scene: Scene
  let cluster: TestCluster
  beforeAll(async () => {
    cluster = await startTestCluster()
    house = await startHouse({ env: cluster.env })
    scene = await makeScene(house)
    browser = await openBrowser()
    if (IMAGES) await mkdir(IMAGES, { recursive: true })
  })
  afterAll(async () => {
    await browser?.close()
    await house?.close()
    await cluster?.close()
  })

  it.each(TURNS)('renders well: $name', async ({ looks, pages }) => {
    const [first] = looks
    const { page, complaints, close } = await visit(browser, first)
    const found: Record<string, unknown> = {}
    const judge = async (name: string, look: Look): Promise<void> => {
      await settled(page)
      if (IMAGES) await takePicture(page, name, look)
      const breaches = await accessibilityBreaches(page)
      const wider = await page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth')
      if (breaches.length > 0 || wider)
        found[`${name}, ${look.theme} at ${look.size.width} pixels`] = { breaches, wider }
    }
    const see = async (name: string, address: string, text: string | RegExp): Promise<void> => {
      await page.emulateMedia({ colorScheme: first.theme })
      await page.setViewportSize(first.size)
      await page.goto(house.url + address)
      const complete = page.getByText(text).filter({ visible: true }).first()
      await complete.waitFor({ timeout: 60_000 }).catch(() => (found[name] = `there is no “${text}”`))
      for (const look of looks) {
        await page.emulateMedia({ colorScheme: look.theme })
        await page.setViewportSize(look.size)
        await judge(name, look)
      }
    }
    await see('sign-in', '/sign-in', 'Token')
    await page.goto(house.link)
    await page.waitForURL(house.start)
    for (const [name, path, text] of pages) await see(name, path(scene), text)
    expect(found).toEqual({})
    expect(complaints).toEqual([])
    await close()
  })
})

/** Waits until loading and animations have finished. */
async function settled(page: Page): Promise<void> {
  await page.locator('[aria-busy="true"]').filter({ visible: true }).first().waitFor({ state: 'detached' })
  await page.waitForTimeout(400)
}

async function takePicture(page: Page, name: string, { theme, size }: Look): Promise<void> {
  const isPhone = size === PHONE
  if (isPhone && (theme === 'dark' || !PHONE_PICTURES.includes(name))) return
  const path = join(IMAGES ?? '', `${name}-${theme}${isPhone ? '-phone' : ''}.png`)
  await page.screenshot({ path })
}
