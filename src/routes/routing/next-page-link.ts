/** The `Link` header to the next page of a bare array (RFC 8288; docs/api.md#lists); none on the last page. */
export function nextPageLink(
  path: string,
  query: Readonly<Record<string, string | number | undefined>>,
  token: string | null,
): Record<string, string> {
  if (token === null) return {}
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value))
  parameters.set('page_token', token)
  return { Link: `<${path}?${parameters.toString()}>; rel="next"` }
}
