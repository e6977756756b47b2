/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/generation/software.h"

bool generation_has_graph(const struct generation_software *software, int64_t tokens) {
    return software->graph_step > 0 && tokens <= software->graph_limit;
}

int64_t generation_graph_batch(const struct generation_software *software, int64_t tokens) {
    int64_t step = software->graph_step, size = 1;
    if (!generation_has_graph(software, tokens))
        return tokens;
    while (size < tokens && size < step)
        size *= 2;
    if (tokens <= size && size <= step)
        return size;
    if (tokens <= software->graph_dense)
        return (tokens + step - 1) / step * step;
    for (size = software->graph_dense; size < tokens;)
        size *= 2;
    return size < software->graph_limit ? size : software->graph_limit;
}
