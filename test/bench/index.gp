# Index size against look-up time. Variables: points (a file of index-plot.sql), rows, out.
set terminal svg size 760,500 font "sans-serif,13" background rgb "white"
set output out
set title sprintf("%s rows, random uuid: look-up of one row against size of the index", rows)
set xlabel "index size, MB"
set ylabel "look-up, ms (median, warm)"
set logscale xy
set grid
stats points using 1:2 nooutput
set xrange [STATS_min_x / 2 : STATS_max_x * 5]
set yrange [STATS_min_y / 3 : STATS_max_y * 3]
set key off
plot points using 1:2 with points pointtype 7 pointsize 1 linecolor rgb "#205090", \
     points using 1:2:(stringcolumn(4) eq "left" ? stringcolumn(3) : "") with labels right offset char -1,0.4, \
     points using 1:2:(stringcolumn(4) eq "left" ? "" : stringcolumn(3)) with labels left offset char 1,0.4
