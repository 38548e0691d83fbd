/** Runs in a page of a notebook after a click: opens a window of the service and reads what it can. */
export async function windowFromInside(url) {
  const opened = window.open(url)
  if (opened === null) return 'no window: the browser saw no click'
  await new Promise((resolve) => setTimeout(resolve, 1500))
  try {
    const text = opened.document?.body?.textContent ?? ''
    if (text !== '') return `read: ${text}`
    const answer = await opened.fetch(`${location.origin}/api/auth/me`, { credentials: 'include' })
    return `fetched: ${await answer.text()}`
  } catch (error) {
    return `blocked: ${String(error)}`
  } finally {
    opened.close()
  }
}
