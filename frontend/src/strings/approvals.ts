import { formatPlural } from '../components/units.ts'
import { inWords } from './environments.ts'

/** Every visible string of the approvals inbox and of a request. */
export const approvalStrings = {
  title: 'Approvals',
  request: 'Approval request',
  loadMore: 'Load older',
  none: '–',
  lead: 'Moves of a pipeline version to UAT and to production wait here until a lead decides.',
  filters: { all: 'All', pending: 'Pending', approved: 'Approved', rejected: 'Rejected' },
  filterLabel: 'Which requests',
  columns: {
    status: 'Status',
    pipeline: 'Pipeline',
    version: 'Version',
    move: 'Move',
    requestedBy: 'Requested by',
    requestedAt: 'Requested',
    decidedBy: 'Decided by',
    decidedAt: 'Decided',
  },
  statuses: { pending: 'Pending', approved: 'Approved', rejected: 'Rejected', withdrawn: 'Withdrawn' },
  empty: {
    all: {
      title: 'No approval requests yet',
      text: 'Promoting a version from QA or UAT makes one. It appears here at once.',
    },
    pending: { title: 'Nothing waits for a decision', text: 'New requests appear here at once.' },
    approved: { title: 'Nothing was approved yet', text: 'Approved requests stay here for the record.' },
    rejected: { title: 'Nothing was rejected yet', text: 'Rejected and withdrawn requests stay here for the record.' },
    own: {
      title: 'You have no approval requests',
      text: 'Promote a version from QA or UAT, and its request appears here.',
    },
  },
  forbidden: {
    title: 'Approvals are for engineers and leads',
    text:
      'Your role, Auditor, reads tables, pipelines and definitions. Requests can be followed by a data engineer and ' +
      'decided by a lead data engineer. Which version is where is on the board of definitions.',
    link: 'Open definitions',
  },
  own: {
    lead: 'Your own requests and those of other engineers. A lead data engineer decides.',
    mine: 'Mine',
    everyone: 'Everyone',
    label: 'Whose requests',
  },
  notFound: {
    title: 'No such approval request',
    text: 'It may have been removed with its pipeline definition.',
    link: 'All requests',
  },
  move: (from: string, to: string) => `${inWords(from)} to ${inWords(to)}`,
  version: (version: number) => `v${version}`,
  requestTitle: (name: string, version: number) => `${name} v${version}`,
  asksToMove: (who: string, from: string, to: string) =>
    `${who} asks to move it from ${inWords(from)} to ${inWords(to)}`,
  sections: {
    change: 'What changes',
    snapshot: 'The version',
    comments: 'Comments',
    decision: 'Decision',
  },
  facts: {
    move: 'Move',
    contentHash: 'content hash',
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
    against: (version: number, environment: string) => `Against v${version}, the newest in ${inWords(environment)}`,
    againstThen: (version: number, environment: string) =>
      `Against v${version}, the newest in ${inWords(environment)} then`,
    first: (environment: string) =>
      `Nothing of this pipeline is in ${inWords(environment)} yet: all of it is new there.`,
    identical: (version: number, environment: string) =>
      `The content is the same as of v${version}, the newest in ${inWords(environment)}.`,
    onlyMoves: 'Only places on the canvas differ; what runs is the same.',
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
    moves: (count: number) => `${formatPlural(count, 'node')} moved on the canvas`,
    moveOf: (id: string, from: string, to: string) => `${id}: from ${from} to ${to}`,
    place: (x: number, y: number) => `${Math.round(x)}, ${Math.round(y)}`,
    nothing: 'nothing',
    edgeOf: (source: string, target: string) => `${source} → ${target}`,
  },
  snapshot: {
    drawing: (nodes: number, edges: number) =>
      `Drawing of ${formatPlural(nodes, 'node')} and ${formatPlural(edges, 'edge')}`,
    scroll: 'Drawing of the version, can be scrolled',
    size: (nodes: number, edges: number) => `${formatPlural(nodes, 'node')}, ${formatPlural(edges, 'edge')}`,
    noNodes: 'This version has no nodes.',
    noConfig: 'no configuration',
    goesTo: (targets: string) => `to ${targets}`,
    more: (count: number) => `Show ${formatPlural(count, 'more node')}`,
    legend: 'Marks of the drawing',
    open: 'Open in the designer',
  },
  comments: {
    none: 'No comments yet.',
    label: 'Add a comment',
    placeholder: 'For the requester and for those who decide',
    send: 'Comment',
    sent: 'Comment added',
    count: (count: number) => formatPlural(count, 'comment'),
  },
  decide: {
    approve: 'Approve',
    reject: 'Reject',
    withdraw: 'Withdraw',
    hint: (to: string) => `Approving moves the version to ${inWords(to)} at once.`,
    own: 'This is your own request.',
    leadOnly: 'A lead data engineer decides. You can comment.',
    canWithdraw: 'You can withdraw your own request as long as nobody has decided.',
    done: { approved: 'Approved', rejected: 'Rejected', withdrawn: 'Withdrawn' },
    cancel: 'Cancel',
  },
  approveDialog: {
    title: (name: string, version: number) => `Approve ${name} v${version}?`,
    text: (from: string, to: string) =>
      `The version moves from ${inWords(from)} to ${inWords(to)} at once. Pipelines that run are not touched.`,
    replaces: (version: number, environment: string) =>
      `v${version} stays in ${inWords(environment)}; this one becomes the newest there.`,
    comment: 'Comment',
    commentHelp: 'Optional. It is added to the request.',
    confirm: (to: string) => `Approve for ${inWords(to)}`,
  },
  rejectDialog: {
    title: (name: string, version: number) => `Reject ${name} v${version}?`,
    text: (from: string) =>
      `The version stays in ${inWords(from)}. It can be promoted again, which makes a new request.`,
    reason: 'Reason',
    reasonHelp: 'Required. The requester reads it.',
    required: 'Say why, so that the requester knows what to change.',
    confirm: 'Reject',
  },
  withdrawDialog: {
    title: (name: string, version: number) => `Withdraw the request for ${name} v${version}?`,
    text: (from: string) =>
      `The version stays in ${inWords(from)}. The request ends as rejected, with the reason “withdrawn”.`,
    confirm: 'Withdraw',
  },
  problems: {
    SELF_APPROVAL: {
      title: 'Another lead has to decide',
      text: 'You made this request, and this service does not let requesters decide. You can withdraw it.',
    },
    APPROVAL_NOT_PENDING: {
      title: 'Somebody was faster',
      text: 'The request has been decided in the meantime. What you see now is how it ended.',
    },
    CONTENT_CHANGED: {
      title: 'The content is not what approval was asked for',
      text:
        'The stored version differs from the snapshot of this request, so nothing was moved. Versions cannot be changed ' +
        'through the service: somebody went around it. Reject this request and look at the audit log.',
    },
    PRECONDITION_FAILED: {
      title: 'The request has changed since you opened it',
      text:
        'Either it was decided, or another version reached the target environment, so the comparison that you saw is ' +
        'out of date. It is loaded again: look at it before you decide.',
    },
    INVALID_TRANSITION: {
      title: 'The version cannot move there any more',
      text: 'It is not where it was when the request was made. Reject the request.',
    },
    openAudit: 'Open the audit log',
  },
} as const
