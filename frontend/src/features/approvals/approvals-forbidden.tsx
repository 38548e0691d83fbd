import { Link } from '@tanstack/react-router'
import { Page } from '../../components/page.tsx'
import { Empty } from '../../components/states.tsx'
import { approvalStrings as strings } from '../../strings/approvals.ts'

/** What an Auditor sees instead of approvals, and where to look instead. */
export function ApprovalsForbidden() {
  const { title, text, link } = strings.forbidden
  return (
    <Page title={strings.title}>
      <Empty title={title} detail={text} action={<Link to="/definitions">{link}</Link>} />
    </Page>
  )
}
