import { formatPlural } from './everywhere/units.ts'
import { inWords } from './environments.ts'

/** Text of the approvals pages. */
export const approvalStrings = {
  title: 'Approvals',
  request: 'Approval request',
  loadMore: 'Load more',
  none: '–',
  lead: 'Moving a pipeline version to UAT or production needs the approval of a lead data engineer.',
  filters: {
    all: 'All',
    pending: 'Pending',
    waiting_for_window: 'Waiting',
    approved: 'Approved',
    rejected: 'Rejected',
  },
  filterLabel: 'Filter by status',
  columns: {
    status: 'Status',
    approvals: 'Approvals',
    pipeline: 'Pipeline',
    version: 'Version',
    move: 'Move',
    requestedBy: 'Requested by',
    requestedAt: 'Requested',
    decidedBy: 'Decided by',
    decidedAt: 'Decided',
  },
  statuses: {
    pending: 'Pending',
    waiting_for_window: 'Waiting for window',
    approved: 'Approved',
    rejected: 'Rejected',
    withdrawn: 'Withdrawn',
  },
  empty: {
    all: {
      title: 'No approval requests yet',
      text: 'Promoting a version from QA or UAT creates a request.',
    },
    pending: { title: 'No pending requests', text: 'New requests appear here automatically.' },
    waiting_for_window: {
      title: 'No waiting requests',
      text: 'Approved requests outside of the change windows are listed here.',
    },
    approved: { title: 'No approved requests', text: 'Approved requests are listed here.' },
    rejected: { title: 'No rejected requests', text: 'Rejected and withdrawn requests are listed here.' },
    own: {
      title: 'You have no approval requests',
      text: 'Promote a version from QA or UAT to create a request.',
    },
  },
  forbidden: {
    title: 'Permission denied',
    text:
      'Approval requests require the role Data engineer. The Definitions page shows which version is in which ' +
      'environment.',
    link: 'Open definitions',
  },
  own: {
    lead: 'Your requests and those of other engineers. A lead data engineer approves or rejects them.',
    mine: 'Mine',
    everyone: 'Everyone',
    label: 'Filter by requester',
  },
  notFound: {
    title: 'Approval request not found',
    text: 'It may have been deleted with its definition.',
    link: 'All requests',
  },
  move: (from: string, to: string) => `${inWords(from)} to ${inWords(to)}`,
  version: (version: number) => `v${version}`,
  requestTitle: (name: string, version: number) => `${name} v${version}`,
  asksToMove: (who: string, from: string, to: string) =>
    `${who} requested to move this version from ${inWords(from)} to ${inWords(to)}`,
  sections: {
    change: 'Changes',
    snapshot: 'Version',
    comments: 'Comments',
    decision: 'Decision',
  },
  facts: {
    move: 'Move',
    contentHash: 'content hash',
    approvals: 'Approvals',
    progress: (given: number, required: number) => `${given} of ${required}`,
    approvedBy: 'Approved by',
    notCounted: '(does not count)',
    mayApprove: 'Can still approve',
    users: (names: readonly string[]) => names.join(', '),
    opens: 'Window opens',
    noOpening: 'not within 400 days',
    expires: 'Expires',
    override: 'Window overridden by',
    service: 'the service',
    requestedBy: 'Requested by',
    requestedAt: 'Requested',
    decidedBy: 'Decided by',
    decidedAt: 'Decided',
    content: 'Content hash',
    reason: 'Reason',
    created: 'Version created',
    definition: 'Definition',
  },
  change: {
    against: (version: number, environment: string) =>
      `Compared with v${version}, the newest in ${inWords(environment)}`,
    againstThen: (version: number, environment: string) =>
      `Compared with v${version}, the newest in ${inWords(environment)} at that time`,
    first: (environment: string) => `This is the first version in ${inWords(environment)}.`,
    identical: (version: number, environment: string) =>
      `Same content as v${version}, the newest in ${inWords(environment)}.`,
    onlyMoves: 'Only node positions differ. The pipeline itself is the same.',
    added: 'Added',
    removed: 'Removed',
    changed: 'Changed',
    same: 'Unchanged',
    node: 'node',
    edge: 'edge',
    from: 'before',
    to: 'after',
    counts: {
      added: (count: number) => `${count} added`,
      removed: (count: number) => `${count} removed`,
      changed: (count: number) => `${count} changed`,
    },
    moves: (count: number) => `${formatPlural(count, 'node')} moved`,
    moveOf: (id: string, from: string, to: string) => `${id}: from ${from} to ${to}`,
    place: (x: number, y: number) => `${Math.round(x)}, ${Math.round(y)}`,
    nothing: 'nothing',
    edgeOf: (source: string, target: string) => `${source} → ${target}`,
  },
  snapshot: {
    size: (nodes: number, edges: number) => `${formatPlural(nodes, 'node')}, ${formatPlural(edges, 'edge')}`,
    noNodes: 'This version has no nodes.',
    noConfig: 'no configuration',
    goesTo: (targets: string) => `to ${targets}`,
    more: (count: number) => `Show ${formatPlural(count, 'more node')}`,
    legend: 'Legend',
    open: 'Open in the designer',
  },
  comments: {
    none: 'No comments yet.',
    label: 'Add a comment',
    placeholder: 'Visible to the requester and approvers',
    send: 'Comment',
    sent: 'Comment added',
    count: (count: number) => formatPlural(count, 'comment'),
  },
  decide: {
    approve: 'Approve',
    reject: 'Reject',
    withdraw: 'Withdraw',
    override: 'Override window',
    hint: (to: string, missing: number) =>
      missing > 1
        ? `${missing} more approvals of different users are needed.`
        : `Approving moves the version to ${inWords(to)} immediately, or when its change window opens.`,
    waits: 'All approvals are given. The version moves by itself when the change window opens.',
    own: 'This is your own request.',
    leadOnly: 'Only a lead data engineer can approve or reject. You can comment.',
    canWithdraw: 'You can withdraw your own request while it is pending.',
    done: { approved: 'Approved', rejected: 'Rejected', withdrawn: 'Withdrawn' },
    cancel: 'Cancel',
  },
  approveDialog: {
    title: (name: string, version: number) => `Approve ${name} v${version}?`,
    text: (from: string, to: string) =>
      `The version moves from ${inWords(from)} to ${inWords(to)} immediately, or when its change window opens.`,
    more: (missing: number, to: string) =>
      `The version moves to ${inWords(to)} after ${formatPlural(missing, 'more approval')} by other users.`,
    replaces: (version: number, environment: string) =>
      `v${version} stays in ${inWords(environment)}. This version becomes the newest there.`,
    comment: 'Comment',
    commentHelp: 'Optional. Added to the request.',
    confirm: (to: string) => `Approve for ${inWords(to)}`,
  },
  rejectDialog: {
    title: (name: string, version: number) => `Reject ${name} v${version}?`,
    text: (from: string) => `The version stays in ${inWords(from)}. It can be promoted again with a new request.`,
    reason: 'Reason',
    reasonHelp: 'Required. Tell the requester what to change.',
    confirm: 'Reject',
  },
  overrideDialog: {
    title: (name: string, version: number) => `Override the change window for ${name} v${version}?`,
    text: (to: string) => `The version moves to ${inWords(to)} immediately.`,
    reason: 'Reason',
    reasonHelp: 'Required. Shown with the request and recorded in the audit log.',
    confirm: 'Override window',
  },
  withdrawDialog: {
    title: (name: string, version: number) => `Withdraw the request for ${name} v${version}?`,
    text: (from: string) =>
      `The version stays in ${inWords(from)}. The request is closed as rejected, with the reason “withdrawn”.`,
    confirm: 'Withdraw',
  },
  problems: {
    SELF_APPROVAL: {
      title: 'Another lead must decide',
      text: 'Requesters cannot approve or reject their own requests. You can withdraw this request.',
    },
    ALREADY_APPROVED: {
      title: 'You have already approved this request',
      text: 'Each user counts once. Another lead must give the next approval.',
    },
    APPROVAL_NOT_PENDING: {
      title: 'Already decided',
      text: 'Someone else has decided this request. The page now shows the result.',
    },
    CONTENT_CHANGED: {
      title: 'The version has changed since the request',
      text:
        'The stored version differs from the snapshot of this request, so nothing was moved. The service never changes ' +
        'versions, so someone changed the database directly. Reject this request and check the audit log.',
    },
    PRECONDITION_FAILED: {
      title: 'The request has changed since you opened it',
      text:
        'It was decided, or another version reached the target environment, so the comparison was out of date. The page ' +
        'has been reloaded. Review it before you decide.',
    },
    INVALID_TRANSITION: {
      title: 'The version can no longer move there',
      text: 'It has moved to another environment since the request. Reject this request.',
    },
    openAudit: 'Open audit log',
  },
} as const
