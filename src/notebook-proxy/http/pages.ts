import { createMiddleware } from 'hono/factory'
import { wantsPage } from '../admission/request-rules.ts'
import type { ErrorCode } from '../../domain/error-codes.ts'
import type { AppEnv } from '../../middleware/app-env.ts'

interface Page {
  readonly title: string
  /** Undefined: the message of the error. */
  readonly text?: string
  /** Seconds after which the browser reloads the page. */
  readonly refreshS?: number
}

const PAGES: Partial<Record<ErrorCode, Page>> = {
  UNAUTHENTICATED: { title: 'Sign in', text: 'This notebook needs you to sign in first.' },
  FORBIDDEN: { title: 'Not your notebook', text: 'You cannot open this notebook from here.' },
  NOT_FOUND: { title: 'No notebook', text: 'You have no running notebook. Start one first.' },
  UNSUPPORTED: { title: 'No host for notebooks' },
  NOTEBOOK_NOT_READY: { title: 'Your notebook is starting', text: 'This page reloads automatically.', refreshS: 3 },
  NOTEBOOK_FAILED: { title: 'Your notebook is not responding', text: 'It may have stopped or be restarting.' },
  NOTEBOOK_TIMEOUT: { title: 'Your notebook takes too long', text: 'It is running but did not respond in time.' },
}

/**
 * Renders errors of notebooks as HTML when the browser requested a page, with a link to the service below `basePath`;
 * undefined on hosts without the service.
 */
export function notebookPages(basePath: string | undefined) {
  return createMiddleware<AppEnv>(async function renderErrors(c, next) {
    await next()
    const code = c.env.problemCode
    if (code === undefined || c.env.relayed || !wantsPage(c.req.raw.headers)) return
    const known = PAGES[code] ?? { title: 'Something went wrong', text: 'The service cannot show this page.' }
    const page = { ...known, text: known.text ?? (c.env.error instanceof Error ? c.env.error.message : '') }
    const headers = new Headers({ 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' })
    if (page.refreshS !== undefined) headers.set('Refresh', String(page.refreshS))
    // Hono keeps the other headers of the error response.
    c.res = new Response(htmlOf(page, basePath), { status: c.res.status, headers })
  })
}

function htmlOf({ title, text }: Required<Pick<Page, 'title' | 'text'>>, basePath: string | undefined): string {
  const start = basePath === undefined ? '' : ` · <a href="${basePath}/">Lockhouse</a>`
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<h1>${title}</h1>
<p>${escapeHtml(text)}
<p><a href="">Try again</a>${start}
</html>
`
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
