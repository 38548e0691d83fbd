import { Button, Text, Textarea, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { queryClient } from '../../api/query-client.ts'
import type { Comment } from '../../api/types.ts'
import { useAction } from '../../api/actions/use-action.ts'
import { RelativeTime } from '../../time/relative-time.tsx'
import { ErrorState, errorText, Loading } from '../../components/status/states.tsx'
import { useFieldShortcuts } from '../../components/shortcuts/use-shortcuts.ts'
import { shortcuts } from '../../strings/everywhere/shortcuts.ts'
import { approvalStrings } from '../../strings/approvals.ts'
import { addComment, commentsQuery } from './api.ts'
import classes from './approvals.module.css'

const strings = approvalStrings.comments

/** The comments on a request, oldest first, and a field to add one. */
export function CommentsSection({ requestId }: { readonly requestId: string }) {
  const comments = useQuery(commentsQuery(requestId))
  return (
    <section className={classes.section} aria-labelledby="approval-comments">
      <Title order={2} id="approval-comments">
        {approvalStrings.sections.comments}
      </Title>
      {comments.isPending ? <Loading lines={2} /> : undefined}
      {comments.isError && !comments.data ? (
        <ErrorState error={comments.error} onRetry={() => void comments.refetch()} />
      ) : undefined}
      {comments.data ? <CommentList comments={comments.data} /> : undefined}
      <CommentForm requestId={requestId} />
    </section>
  )
}

function CommentList({ comments }: { readonly comments: readonly Comment[] }) {
  if (comments.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        {strings.none}
      </Text>
    )
  }
  return (
    <ol className={classes.comments} aria-label={strings.count(comments.length)}>
      {comments.map(({ id, author, comment, created_at: at }) => (
        <li key={id}>
          <div className={classes.commentHead}>
            <strong>{author}</strong>
            <span className={classes.dimmed}>
              <RelativeTime at={at} />
            </span>
          </div>
          <p>{comment}</p>
        </li>
      ))}
    </ol>
  )
}

function CommentForm({ requestId }: { readonly requestId: string }) {
  const [text, setText] = useState('')
  const send = useAction({
    send: (comment: string) => addComment(requestId, comment),
    onDone: (added) => {
      setText('')
      queryClient.setQueryData(commentsQuery(requestId).queryKey, (known) => {
        return known?.some(({ id }) => id === added.id) ? known : [...(known ?? []), added]
      })
    },
  })
  const isBlank = text.trim() === ''
  const submit = (): void => {
    if (!isBlank && !send.isPending) send.mutate(text)
  }
  const { place, send: label } = shortcuts.comment
  const onKeyDown = useFieldShortcuts(place, [{ keys: ['mod+Enter'], label, run: submit }])
  return (
    <form
      className={classes.commentForm}
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <Textarea
        label={strings.label}
        placeholder={strings.placeholder}
        autosize
        minRows={2}
        maxRows={10}
        value={text}
        error={send.isError ? errorText(send.error) : undefined}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <Button type="submit" variant="default" disabled={isBlank} loading={send.isPending}>
        {strings.send}
      </Button>
    </form>
  )
}
