import { Button, VisuallyHidden } from '@mantine/core'
import { type ReactNode, useEffect, useRef } from 'react'
import type { ChatTurn } from '../../api/types.ts'
import { Notice } from '../../components/status/notice.tsx'
import { Scrollable } from '../../components/scrollable.tsx'
import { formatCount } from '../../strings/everywhere/units.ts'
import { agentStrings } from '../../strings/agent.ts'
import { ActionCard } from './action-card.tsx'
import { AnswerText } from './answer-text.tsx'
import { type LiveTurn, storedCalls } from './live-turn.ts'
import { ToolCalls } from './tool-calls.tsx'
import classes from './agent.module.css'

const strings = agentStrings.turn
const NEAR_END_PX = 80

interface ConversationProps {
  readonly turns: readonly ChatTurn[]
  readonly live: LiveTurn | undefined
  readonly onAskAgain: (prompt: string) => void
}

/** Questions and answers, oldest first; keeps scrolling to the end while the user is at the end. */
export function Conversation({ turns, live, onAskAgain }: ConversationProps) {
  const end = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const scroller = end.current?.closest(`.${classes.scroll}`)
    if (!scroller) return
    const left = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight
    if (left < NEAR_END_PX || live?.text === '') scroller.scrollTo({ top: scroller.scrollHeight })
  }, [live])
  useEffect(() => {
    end.current?.scrollIntoView({ block: 'end' })
  }, [turns.length])
  return (
    <Scrollable className={classes.scroll} label={strings.log}>
      <div className={classes.turns}>
        {turns.map((turn) => (
          <StoredTurn key={turn.seq} turn={turn} />
        ))}
        {live ? <CurrentTurn turn={live} onAskAgain={onAskAgain} /> : undefined}
        <div ref={end} />
      </div>
      <VisuallyHidden role="status">
        {live?.state === 'running' ? strings.thinking : turns.length > 0 ? strings.answered : ''}
      </VisuallyHidden>
    </Scrollable>
  )
}

function StoredTurn({ turn }: { readonly turn: ChatTurn }) {
  const { prompt, response, provider, model, usage, stop_reason: reason, pending_actions: actions } = turn
  const hasTokens = usage.input_tokens + usage.output_tokens > 0
  const tokens = strings.tokens(formatCount(usage.input_tokens), formatCount(usage.output_tokens), usage.estimated)
  return (
    <TurnFrame prompt={prompt}>
      <ToolCalls calls={storedCalls(turn)} isRunning={false} />
      <AnswerText source={response === '' ? (strings.stops[reason] ?? strings.noAnswer) : response} />
      {actions.map((action) => (
        <ActionCard key={action.id} action={action} />
      ))}
      {response !== '' && strings.stops[reason] !== undefined ? (
        <p className={classes.dimmed}>{strings.stops[reason]}</p>
      ) : undefined}
      <p className={classes.meta}>
        {strings.meta(providerName(provider), provider === 'builtin' ? '' : model, hasTokens ? tokens : '')}
      </p>
    </TurnFrame>
  )
}

function providerName(provider: string): string {
  return agentStrings.composer.providers[provider] ?? provider
}

interface CurrentTurnProps {
  readonly turn: LiveTurn
  readonly onAskAgain: (prompt: string) => void
}

function CurrentTurn({ turn, onAskAgain }: CurrentTurnProps) {
  const { prompt, text, calls, actions, state, problem } = turn
  const isRunning = state === 'running'
  return (
    <TurnFrame prompt={prompt}>
      <ToolCalls calls={calls} isRunning={isRunning} />
      {text === '' ? undefined : <AnswerText source={text} />}
      {isRunning && text === '' ? <p className={classes.dimmed}>{strings.thinking}</p> : undefined}
      {actions.map((action) => (
        <ActionCard key={action.id} action={action} />
      ))}
      {state === 'stopped' ? <p className={classes.dimmed}>{strings.stopped}</p> : undefined}
      {state === 'failed' ? (
        <Notice tone="bad" title={strings.failed} role="alert">
          {problem}
        </Notice>
      ) : undefined}
      {isRunning ? undefined : (
        <div>
          <Button variant="default" onClick={() => onAskAgain(prompt)}>
            {strings.askAgain}
          </Button>
        </div>
      )}
    </TurnFrame>
  )
}

interface TurnFrameProps {
  readonly prompt: string
  readonly children: ReactNode
}

function TurnFrame({ prompt, children }: TurnFrameProps) {
  return (
    <article className={classes.turn}>
      <h2 className={classes.prompt}>
        <VisuallyHidden>{strings.you}</VisuallyHidden>
        {prompt}
      </h2>
      <div className={classes.answer}>
        <VisuallyHidden>{strings.agent}</VisuallyHidden>
        {children}
      </div>
    </article>
  )
}
