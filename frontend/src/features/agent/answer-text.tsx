import { lazy, Suspense, useDeferredValue } from 'react'
import { isTooCostly } from './markdown-cost.ts'
import classes from './agent.module.css'

const MarkdownView = lazy(async () => ({ default: (await import('./markdown-view.tsx')).MarkdownView }))

/**
 * The text of an answer: Markdown, or plain text while the parser is loaded and for what is too costly to parse. Text that
 * is still growing is rendered with low priority, so that the page stays responsive.
 */
export function AnswerText({ source }: { readonly source: string }) {
  const text = useDeferredValue(source)
  const plain = <p className={classes.plain}>{text}</p>
  if (isTooCostly(text)) return plain
  return (
    <Suspense fallback={plain}>
      <MarkdownView source={text} />
    </Suspense>
  )
}
