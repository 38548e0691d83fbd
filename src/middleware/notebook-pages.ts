import { createMiddleware } from 'hono/factory'
import { wantsPage } from '../notebooks/proxy/request-rules.ts'
import type { Problem } from '../schemas/common.ts'
import type { AppEnv } from './app-env.ts'

interface Page {
  readonly title: string
  readonly text: string
  /** Seconds after which the browser asks again by itself. */
  readonly refreshS?: number
}

const PAGES: Partial<Record<Problem['code'], Page>> = {
  UNAUTHENTICATED: { title: 'Sign in', text: 'This notebook needs you to sign in first.' },
  FORBIDDEN: { title: 'Not your notebook', text: 'You cannot open this notebook from here.' },
  NOT_FOUND: { title: 'No notebook', text: 'You have no notebook that runs. Start one first.' },
  NOTEBOOK_NOT_READY: { title: 'Your notebook is starting', text: 'This page looks again by itself.', refreshS: 3 },
  NOTEBOOK_FAILED: { title: 'Your notebook does not answer', text: 'It may have stopped, or be about to start again.' },
  NOTEBOOK_TIMEOUT: { title: 'Your notebook takes too long', text: 'It is there, but it does not answer.' },
}

/** Shows refusals below `/notebook/` as pages to who asked for a page. */
export function notebookPages() {
  return createMiddleware<AppEnv>(async function showRefusals(c, next) {
    await next()
    const code = c.get('problemCode')
    if (code === undefined || c.get('relayed') === true || !wantsPage(c.req.raw.headers)) return
    const page = PAGES[code as Problem['code']] ?? { title: 'This did not work', text: 'The service cannot show this.' }
    const headers = new Headers({ 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' })
    if (page.refreshS !== undefined) headers.set('Refresh', String(page.refreshS))
    // The other headers of the refusal stay: hono carries them over.
    c.res = new Response(htmlOf(page), { status: c.res.status, headers })
  })
}

function htmlOf({ title, text }: Page): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<h1>${title}</h1>
<p>${text}
<p><a href="">Try again</a> · <a href="/">Lockhouse</a>
</html>
`
}
