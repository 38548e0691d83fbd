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

  const looks = (['light', 'dark'] as const).flatMap((theme) =>
    [WIDE, PHONE].map((size) => [theme, size.width, size] as const),
  )

  it.each(looks)('renders well in the %s scheme at %i pixels', async (theme, _width, size) => {
    const { page, complaints, close } = await visit(browser, { theme, size })
    const found: Record<string, unknown> = {}
    await page.goto(`${house.url}/sign-in`)
    await page.getByLabel(/^Token/).waitFor()
    if (IMAGES) await takePicture(page, { name: 'sign-in', theme, width: size.width })
    const atTheDoor = await accessibilityBreaches(page)
    if (atTheDoor.length > 0) found['sign-in'] = atTheDoor
    await page.goto(house.link)
    await page.waitForURL(house.start)
    for (const [name, path, text] of pagesIn(theme, size)) {
      await page.goto(house.url + path(scene))
      const complete = page.getByText(text).filter({ visible: true }).first()
      const missing = await complete.waitFor({ timeout: 60_000 }).then(
        () => undefined,
        () => `there is no “${text}”`,
      )
      await settled(page)
      if (IMAGES) await takePicture(page, { name, theme, width: size.width })
      const breaches = await accessibilityBreaches(page)
      const wider = await page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth')
      if (breaches.length > 0 || wider || missing) found[name] = { breaches, wider, missing }
    }
    expect(found).toEqual({})
    expect(complaints).toEqual([])
    await close()
  })
})

/** Half of the pages for each look, so that each page is seen in both schemes and at both widths; all of them for pictures. */
function pagesIn(theme: Theme, size: typeof WIDE): typeof PAGES {
  const rest = (theme === 'light') === (size === WIDE) ? 0 : 1
  return IMAGES ? PAGES : PAGES.filter((_, index) => index % 2 === rest)
}

/** Waits until loading and animations have finished. */
async function settled(page: Page): Promise<void> {
  await page.locator('[aria-busy="true"]').filter({ visible: true }).first().waitFor({ state: 'detached' })
  await page.waitForTimeout(400)
}

interface Picture {
  readonly name: string
  readonly theme: Theme
  readonly width: number
}

async function takePicture(page: Page, { name, theme, width }: Picture): Promise<void> {
  const isPhone = width < 600
  if (isPhone && (theme === 'dark' || !PHONE_PICTURES.includes(name))) return
  const path = join(IMAGES ?? '', `${name}-${theme}${isPhone ? '-phone' : ''}.png`)
  await page.screenshot({ path })
}
