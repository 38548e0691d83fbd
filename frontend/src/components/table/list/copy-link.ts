import { notifications } from '@mantine/notifications'
import { withQuery } from '../../../api/client.ts'
import { list as words } from '../../../strings/list.ts'

/** Copies the address of the current page with a view of its list; shows the address where the browser cannot copy. */
export function copyLink(view: Readonly<Record<string, string>>): void {
  const address = location.origin + withQuery(location.pathname, view)
  const show = (message: string, autoClose: number | false): void => void notifications.show({ message, autoClose })
  void copy(address).then((isCopied) =>
    show(isCopied ? words.linkCopied : words.linkNotCopied(address), isCopied && 4000),
  )
}

/** Browsers have no clipboard on pages without TLS. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}
