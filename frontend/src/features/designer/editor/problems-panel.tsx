import { CloseButton } from '@mantine/core'
import type { ReactNode } from 'react'
import { Note } from '../../../components/status/note.tsx'
import { errorText } from '../../../components/status/states.tsx'
import { designerStrings } from '../../../strings/pipelines/designer.ts'
import { inWords } from '../../../strings/environments.ts'
import type { Graph } from '../../../components/graph/graph.ts'
import type { Validated } from './validation.ts'
import classes from '../designer.module.css'

const words = designerStrings.problems

interface ProblemsProps {
  readonly graph: Graph
  readonly validated: Validated | undefined
  readonly error: unknown
  readonly onSelect: (id: string) => void
  readonly onClose: () => void
  /** What can be done about the answer. */
  readonly offer?: ReactNode
}

/** The result of the last validation; each problem links to its node. */
export function ProblemsPanel({ graph, validated, error, onSelect, onClose, offer }: ProblemsProps) {
  const hasFailed = error !== null && error !== undefined
  const isShown = hasFailed || validated !== undefined
  return (
    <section className={isShown ? classes.dock : undefined} aria-label={words.title} aria-live="polite">
      {isShown && <CloseButton className={classes.dockClose ?? ''} aria-label={words.close} onClick={onClose} />}
      {hasFailed && <Note tone="bad">{errorText(error)}</Note>}
      {validated && (
        <>
          <Answer validated={validated} isStale={validated.graph !== graph} onSelect={onSelect} />
          {offer}
        </>
      )}
    </section>
  )
}

interface AnswerProps {
  readonly validated: Validated
  readonly isStale: boolean
  readonly onSelect: (id: string) => void
}

function Answer({ validated: { answer, environment }, isStale, onSelect }: AnswerProps) {
  const { problems, runnable, source_tables: sources, sink_table: sink } = answer
  const errors = problems.filter(({ severity }) => severity === 'error').length
  const verdict = runnable
    ? problems.length === 0
      ? words.fine
      : words.fineWith(problems.length)
    : words.cannot(errors)
  return (
    <>
      <p className={classes.verdict}>
        <strong className={runnable ? classes.good : classes.bad}>{verdict}</strong>
        <span className={classes.hint}>{words.checkedFor(inWords(environment))}</span>
        {isStale && <span className={classes.hint}>{words.stale}</span>}
        {sources.length > 0 && <span className={classes.hint}>{words.reads(sources.join(', '))}</span>}
        {sink !== null && <span className={classes.hint}>{words.writes(sink)}</span>}
      </p>
      <ul className={classes.problems}>
        {problems.map(({ node_id: id, code, message, severity }) => (
          <li key={`${id} ${code} ${message}`}>
            <span className={severity === 'error' ? classes.bad : classes.warn}>{words[severity]}</span>{' '}
            {id === null ? (
              words.whole
            ) : (
              <button type="button" className={classes.end} onClick={() => onSelect(id)}>
                {id}
              </button>
            )}
            <div>{message}</div>
          </li>
        ))}
      </ul>
    </>
  )
}
