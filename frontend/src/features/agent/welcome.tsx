import { Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { agentStrings } from '../../strings/agent.ts'
import { anyTableQuery } from './api.ts'
import classes from './agent.module.css'

const strings = agentStrings.welcome

/** Shown in an empty chat: what the agent does, and suggested questions. */
export function Welcome({ onAsk }: { readonly onAsk: (prompt: string) => void }) {
  const table = useQuery(anyTableQuery).data?.tables[0]?.table
  const questions = [
    strings.tablesNeedingCare,
    ...(table === undefined ? [] : [strings.schema(table), strings.compact(table)]),
    strings.pipelines,
    strings.operations,
    strings.approvals,
  ]
  return (
    <div className={classes.welcome}>
      <Title order={2}>{strings.title}</Title>
      <p className={classes.dimmed}>{strings.text}</p>
      <ul aria-label={strings.suggestions}>
        {questions.map((question) => (
          <li key={question}>
            <button type="button" className={classes.suggestion} onClick={() => onAsk(question)}>
              {question}
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}
