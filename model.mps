* m: written by fairlp, 1 rows, 6 columns
* objective: NEGATED. The model maximises; this file minimises minus its objective.
NAME m FREE
ROWS
 N objective
 L _name
COLUMNS
 MARKER 'MARKER' 'INTORG'
 x.ann objective -1
 x.ann _name 1
 x.bob objective -1
 x.bob _name 1
 x.cat objective -1
 x.cat _name 1
 MARKER 'MARKER' 'INTEND'
 y.ann objective 0
 y.bob objective 0
 y.cat objective 0
RHS
 RHS _name 4
BOUNDS
 LO BND x.ann 0
 UP BND x.ann 4
 LO BND x.bob 0
 UP BND x.bob 4
 LO BND x.cat 0
 UP BND x.cat 4
 UP BND y.ann 4
 UP BND y.bob 4
 UP BND y.cat 4
ENDATA
